-- Seconds of the first SELECT min(transactionid) of each step: the worst client, and each client in `client_seconds`
-- (NULL where only one figure was published).
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH timed AS (
    SELECT run_id, step_id, max(seconds) AS get_min_s, list(seconds ORDER BY client) AS client_seconds
    FROM probes WHERE probe = 'get_min' GROUP BY run_id, step_id
), listed AS (
    SELECT run_id, step_id, max(value) AS get_min_s FROM published WHERE metric = 'get_min_s' GROUP BY run_id, step_id
)
SELECT
    s.setup, s.dbms, s.dbms_position, s.repeat, s.run_id, s.run_status, s.step_id, s.step, s.step_status,
    coalesce(t.get_min_s, p.get_min_s) AS get_min_s, t.client_seconds
FROM selected_steps($runs, $steps) s
LEFT JOIN timed t USING (run_id, step_id)
LEFT JOIN listed p USING (run_id, step_id)
ORDER BY setup, dbms_position, repeat, step_id
