-- One row per run and step that it did or planned. `step_status` is complete, failed, interrupted, running,
-- 'loaded from a snapshot' for a step that the run `loaded_from` did for this one too, 'not begun' for one that a run
-- which is under way has still to do, 'not readable' where the run's table of steps is damaged, or 'not run' for one that
-- it never did. A step of a published run is complete, or 'not published'. `planned_s` is as in `planned_steps`. The
-- columns of its kind follow: `main` is the family of its main operations, `counts` the unit of their rate and
-- `rate_label` its name; the others are those of the table `kinds`.
WITH listed AS (
    -- The name of a planned step tells apart what the table `steps` may call alike (control.t1, control.t4).
    SELECT run_id, step_id, coalesce(p.step, s.step) AS step, coalesce(p.kind, s.kind) AS kind
    FROM planned_steps p FULL JOIN steps s USING (run_id, step_id)
)
SELECT
    r.run_id, l.step_id, l.step, l.kind,
    coalesce(
        s.status,
        CASE
            WHEN p.loaded_from IS NOT NULL THEN 'loaded from a snapshot'
            WHEN f.run_id IS NOT NULL THEN 'complete'
            WHEN r.source IS NOT NULL THEN 'not published'
            WHEN r.failed_step = l.step OR starts_with(l.step, r.failed_step || '.') AND l.kind = r.failed_step THEN r.status
            WHEN r.status = 'running' THEN 'not begun'
            WHEN u.run_id IS NOT NULL THEN 'not readable'
            ELSE 'not run'
        END
    ) AS step_status,
    p.planned_s, p.loaded_from,
    s.clients, s.insert_rows_per_commit, s.target_rows_per_s, s.existing_rows,
    s.start_s, s.end_s, s.duration_s, coalesce(s.history_list_length, f.hll) AS history_list_length,
    lasting_client_bound(s.client_bound) AS client_bound, s.client_limit_share,
    r.benchmark, k.main, m.counts, m.label AS rate_label, k.equal_work, k.of_existing_rows,
    -- An older ibench had the throughput of TPC-C's ramp-up as a result.
    k.compared AND (r.benchmark <> 'tpcc' OR l.kind <> 'ramp_up') AS compared,
    CASE WHEN len(k.paced) > 0 THEN k.paced ELSE [k.main] END AS paced
FROM runs r
JOIN listed l USING (run_id)
LEFT JOIN planned_steps p ON p.run_id = l.run_id AND p.step_id = l.step_id
LEFT JOIN steps s ON s.run_id = l.run_id AND s.step_id = l.step_id
LEFT JOIN published_metrics f ON f.run_id = l.run_id AND f.step_id = l.step_id
LEFT JOIN kinds k ON k.run_id = l.run_id AND k.kind = l.kind
LEFT JOIN (SELECT DISTINCT run_id FROM problems WHERE starts_with(file, 'steps.')) u ON u.run_id = r.run_id
LEFT JOIN families m ON m.run_id = k.run_id AND m.family = k.main
