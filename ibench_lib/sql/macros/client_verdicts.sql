-- Why the clients limited each chosen run's steps, NULL if they did not, where its results are judged together: those of a
-- step, setup and experiment whose shares of a limit (`steps.client_limit_share`) cannot be told apart. These are results
-- whose ranges over their runs overlap or lie within 25 % of each other. They are marked together if the median of all
-- their runs came to the limit. Of others only a run that is over its limit by 25 % is marked. A step without a share (of
-- an older ibench, or on a host that was busy with other work) has no row.
--
-- $ids: ids of runs
WITH shares AS (
    SELECT s.run_id, s.step_id, s.step, s.client_bound, s.client_limit_share AS share, r.experiment, r.setup, r.dbms
    FROM run_steps s JOIN runs r USING (run_id)
    WHERE list_contains($ids::VARCHAR[], run_id) AND s.step_status = 'complete' AND s.client_limit_share IS NOT NULL
), ranges AS (
    SELECT experiment, setup, step, dbms, min(share) AS low, max(share) AS high FROM shares GROUP BY ALL
), gaps AS (
    SELECT *, coalesce(low > 1.25 * max(high) OVER (
        PARTITION BY experiment, setup, step ORDER BY low, dbms ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), false)::INTEGER AS apart
    FROM ranges
), alike AS (
    SELECT experiment, setup, step, dbms, sum(apart) OVER (PARTITION BY experiment, setup, step ORDER BY low, dbms) AS place
    FROM gaps
), judged AS (
    SELECT *, median(share) OVER (PARTITION BY experiment, setup, step, place) AS of_all
    FROM shares JOIN alike USING (experiment, setup, step, dbms)
)
SELECT
    run_id, step_id,
    CASE
        WHEN of_all >= 1 THEN coalesce(client_bound, format(
            'its clients came to {:.0f} % of a limit; the median of the results that cannot be told from it is {:.0f} %',
            100 * share, 100 * of_all
        ))
        WHEN share >= 1.25 THEN client_bound
    END AS client_bound
FROM judged
