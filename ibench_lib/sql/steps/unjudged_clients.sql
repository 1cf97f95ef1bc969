-- Complete selected steps of which is not known whether the clients held up their requests: an older ibench has judged that
-- by a rule that is none (`lasting_client_bound`), and no other limit was reached.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
SELECT c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status
FROM selected_steps($runs, $steps) c
JOIN steps s USING (run_id, step_id)
WHERE
    c.step_status = 'complete' AND s.client_bound IS NOT NULL AND lasting_client_bound(s.client_bound) IS NULL
    AND c.client_bound IS NULL
ORDER BY c.step_id, c.setup, c.dbms_position, c.repeat
