-- The resources that each run and step used: storage, CPU, memory and size, per operation where the name says so.
-- macros/resources.sql computes the figures and explains them. NULL: not captured.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, kind, step_status,
    r.* EXCLUDE (run_id, step_id)
FROM selected_steps($runs, $steps) JOIN resources($runs, $steps) r USING (run_id, step_id)
ORDER BY setup, dbms_position, repeat, step_id
