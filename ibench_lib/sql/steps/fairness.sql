-- Fairness between the clients of each step in which all have the same work: how long the fastest and the slowest
-- client took. A client's duration goes from the common start to the end of its last operation. diff_s = max - min, pct
-- = 100 * diff / min. For published runs only diff_s and pct are known. client_bound: why the clients limited the
-- step, NULL when they did not. main: the family of the step's main operations.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH durations AS (
    SELECT run_id, step_id, client, max(end_s) - min(start_s) AS duration_s
    FROM workers GROUP BY run_id, step_id, client
), spread AS (
    SELECT run_id, step_id, count(*) AS clients_seen,
           min(duration_s) AS min_duration_s, max(duration_s) AS max_duration_s
    FROM durations GROUP BY run_id, step_id
)
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, step_status, clients, clients_seen, client_bound,
    min_duration_s, max_duration_s,
    coalesce(max_duration_s - min_duration_s, p.diff_s) AS diff_s,
    coalesce(100 * (max_duration_s - min_duration_s) / nullif(min_duration_s, 0), p.pct) AS pct, main
FROM selected_steps($runs, $steps)
LEFT JOIN spread USING (run_id, step_id)
LEFT JOIN published_metrics p USING (run_id, step_id)
WHERE equal_work
ORDER BY step_id, setup, dbms_position, repeat
