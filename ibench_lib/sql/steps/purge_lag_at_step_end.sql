-- InnoDB history list length right after the last client's end of each step. `flavour`: of the server, since MariaDB
-- counts what is purged until it truncates the history. Runs on servers that have no such list are not there.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
SELECT
    s.setup, s.dbms, s.dbms_position, s.repeat, s.run_id, s.run_status, s.step_id, s.step, s.step_status,
    s.history_list_length, r.flavour
FROM selected_steps($runs, $steps) s JOIN runs r USING (run_id) ANTI JOIN runs_without_history_list USING (run_id)
ORDER BY s.setup, s.dbms_position, s.repeat, s.step_id
