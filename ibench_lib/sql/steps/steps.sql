-- The steps of chosen runs: how each ended, what its kind is about (`main`: the family of its main operations, with the
-- name of their rate), and when it began and ended, in seconds on the run's clock.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, kind, step_status, main, rate_label, clients,
    start_s, end_s, duration_s
FROM selected_steps($runs, $steps)
ORDER BY setup, dbms_position, repeat, step_id
