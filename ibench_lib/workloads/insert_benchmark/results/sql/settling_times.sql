-- How long each run took to settle its database before a step, by kind of action (`what`, the first word of the statements,
-- or wait), in the order in which they began.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
SELECT
    r.setup, r.dbms, r.dbms_position, r.repeat, r.run_id, r.status AS run_status, s.before_step AS step,
    split_part(s.action, ' ', 1) AS what, sum(s.seconds) AS seconds, min(s.position) AS position
FROM selected_runs($runs) r JOIN settling s USING (run_id)
WHERE len($steps::VARCHAR[]) = 0 OR list_contains($steps::VARCHAR[], s.before_step)
GROUP BY ALL
ORDER BY r.setup, r.dbms_position, r.repeat, r.run_id, position
