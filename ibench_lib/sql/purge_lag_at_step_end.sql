-- InnoDB history list length right after the last client's end of each step.
--
-- $experiment: name of the experiment
-- $setups: names of the setups to show; an empty list means all
-- $steps: names of the steps to show; an empty list means all
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, step_status, history_list_length
FROM run_steps
WHERE experiment = $experiment
  AND (len($setups::VARCHAR[]) = 0 OR list_contains($setups::VARCHAR[], setup))
  AND (len($steps::VARCHAR[]) = 0 OR list_contains($steps::VARCHAR[], step))
ORDER BY setup, dbms_position, repeat, step_id
