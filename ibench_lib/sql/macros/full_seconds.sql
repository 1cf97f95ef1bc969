-- Every full second of the selected steps with its rate and its stall (`rated_seconds`). `all_at_work` marks the
-- seconds before the first client has finished; after that, fewer clients share the server.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH first_done AS (
    SELECT run_id, step_id, min(w.end_s - w.start_s) AS first_done_s
    FROM workers w
    JOIN steps_of($ids, $names) s USING (run_id, step_id)
    JOIN worker_families f USING (run_id, step_id, worker)
    WHERE f.family = s.main
    GROUP BY run_id, step_id
)
SELECT r.*, r.second + 1 <= f.first_done_s AS all_at_work
FROM rated_seconds($ids, $names) r LEFT JOIN first_done f USING (run_id, step_id)
