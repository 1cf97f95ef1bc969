-- Achieved insert and delete rates of rate-limited steps and their target, all clients together. A complete step fails
-- if either rate is below 0.95 of the target. client_bound: why the clients limited the step; NULL if they did not.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH written AS (
    SELECT
        run_id, step_id,
        sum("rows") FILTER (role = 'inserter') AS inserted,
        sum("rows") FILTER (role = 'deleter') AS deleted
    FROM workers GROUP BY run_id, step_id
), rates AS (
    SELECT
        s.*, s.clients * s.target_rows_per_s AS target_per_s,
        w.inserted / nullif(s.duration_s, 0) AS ips,
        w.deleted / nullif(s.duration_s, 0) AS dps
    FROM selected_steps($runs, $steps) s LEFT JOIN written w USING (run_id, step_id)
)
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, step_status, client_bound, target_per_s, ips, dps,
    coalesce(ips, 0) < 0.95 * target_per_s AS ips_missed,
    coalesce(dps, 0) < 0.95 * target_per_s AS dps_missed,
    ips_missed OR dps_missed AS sla_failed
FROM rates
WHERE (target_per_s IS NOT NULL OR (kind = 'query' AND step_status <> 'complete'))
ORDER BY setup, dbms_position, repeat, step_id
