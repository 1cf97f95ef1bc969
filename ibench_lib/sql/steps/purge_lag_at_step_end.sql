-- InnoDB history list length right after the last client's end of each step.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, step_status, history_list_length
FROM selected_steps($runs, $steps)
ORDER BY setup, dbms_position, repeat, step_id
