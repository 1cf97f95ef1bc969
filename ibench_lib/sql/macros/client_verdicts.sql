-- Why the clients limited each chosen run's steps, NULL if they did not, where its runs are judged together: those of a
-- step, setup and experiment whose shares of a limit (`steps.client_limit_share`) cannot be told apart. In the order of
-- their shares these are the runs between two gaps, and a gap is where a share is more than 25 % over the next lower one.
-- So runs that are equal pair by pair have one verdict, also if the first and the last of them are not equal. They are
-- marked if the median of their shares came to the limit, or if one of them is over it by 25 %. A step without a share
-- (of an older ibench, or on a host that was busy with other work) has no row.
--
-- $ids: ids of runs
WITH shares AS (
    SELECT s.run_id, s.step_id, s.step, s.client_bound, s.client_limit_share AS share, r.experiment, r.setup
    FROM run_steps s JOIN runs r USING (run_id)
    WHERE list_contains($ids::VARCHAR[], run_id) AND s.step_status = 'complete' AND s.client_limit_share IS NOT NULL
), gaps AS (
    SELECT *, coalesce(share > 1.25 * lag(share) OVER ordered, false)::INTEGER AS apart
    FROM shares
    WINDOW ordered AS (PARTITION BY experiment, setup, step ORDER BY share, run_id, step_id)
), alike AS (
    SELECT *, sum(apart) OVER (PARTITION BY experiment, setup, step ORDER BY share, run_id, step_id) AS place FROM gaps
), judged AS (
    SELECT *, median(share) OVER together AS middle, max(share) OVER together AS highest
    FROM alike
    WINDOW together AS (PARTITION BY experiment, setup, step, place)
)
SELECT
    run_id, step_id,
    CASE
        WHEN middle >= 1 OR highest >= 1.25 THEN coalesce(client_bound, format(
            'its clients came to {:.0f} % of a limit; no gap of more than 25 % lies between it and runs that came to {:.0f} %',
            100 * share, 100 * highest
        ))
    END AS client_bound
FROM judged
