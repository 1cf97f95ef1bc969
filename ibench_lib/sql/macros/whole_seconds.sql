-- What the seconds of chosen steps (`steps_of`) are measured by. `main_operation`: the family of the step's main
-- operations, NULL in a step whose work is done on existing rows; `counts`: the unit of its rate. `full_seconds`: how
-- many seconds from the start are whole, and known of every client: a step that goes on, or did not complete, ends here
-- where its first client does, or where the last report came of one that died. In a step that lasts for a time, clients
-- begin nothing after that time, so the seconds in which they wait for the last answers do not count. `at_work_s`: when
-- the first of the main operations' clients has ended; after that, fewer clients share the server. NULL while none has.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH chosen AS (
    FROM steps_of($ids, $names)
), reported AS (
    SELECT run_id, step_id, worker, max(second) + 1 AS reported_s
    FROM ops SEMI JOIN (FROM chosen WHERE step_status <> 'complete') USING (run_id, step_id) GROUP BY ALL
), broken AS (
    SELECT run_id, step_id, min(least(w.end_s - w.start_s, coalesce(r.reported_s, 0))) AS known_s
    FROM workers w LEFT JOIN reported r USING (run_id, step_id, worker) WHERE w.status <> 'complete' GROUP BY ALL
), first_done AS (
    SELECT run_id, step_id, min(w.end_s - w.start_s) AS at_work_s
    FROM workers w JOIN chosen s USING (run_id, step_id) JOIN worker_families f USING (run_id, step_id, worker)
    WHERE f.family = s.main
    GROUP BY ALL
)
SELECT
    run_id, step_id, counts, CASE WHEN NOT of_existing_rows THEN main END AS main_operation,
    -- Sums and differences of seconds are not exact: 13 may be a little less than 13.
    floor(least(c.duration_s, c.planned_s, CASE WHEN c.step_status <> 'complete' THEN b.known_s END) + 1e-6)::BIGINT
        AS full_seconds,
    at_work_s
FROM chosen c LEFT JOIN broken b USING (run_id, step_id) LEFT JOIN first_done USING (run_id, step_id)
