-- Seconds of the first SELECT min(transactionid) of each step: the worst client, and each client in `client_seconds`.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH timed AS (
    SELECT run_id, step_id, max(seconds) AS get_min_s, list(seconds ORDER BY client) AS client_seconds
    FROM probes WHERE probe = 'get_min' GROUP BY run_id, step_id
)
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, step_status, get_min_s, client_seconds
FROM selected_steps($runs, $steps) LEFT JOIN timed USING (run_id, step_id)
ORDER BY setup, dbms_position, repeat, step_id
