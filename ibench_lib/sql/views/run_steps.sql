-- One row per run and step that it did or set out to do. `step_status` is complete, failed, interrupted, running, or
-- 'not run' for a step that was never started.
WITH listed AS (
    SELECT run_id, step_id, step, kind FROM planned_steps
    UNION
    SELECT run_id, step_id, step, kind FROM steps
)
SELECT
    r.run_id, l.step_id, l.step, l.kind,
    coalesce(
        s.status,
        CASE
            WHEN r.failed_step = l.step THEN r.status
            WHEN r.status = 'running' THEN 'running'
            ELSE 'not run'
        END
    ) AS step_status,
    s.clients, s.insert_rows_per_commit, s.target_rows_per_s, s.existing_rows,
    s.start_s, s.end_s, s.duration_s, s.history_list_length, s.client_bound
FROM runs r
JOIN listed l USING (run_id)
LEFT JOIN steps s ON s.run_id = l.run_id AND s.step_id = l.step_id
