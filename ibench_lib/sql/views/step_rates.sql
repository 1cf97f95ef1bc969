-- Work and rates of each step, as acknowledged by the server. T is the time from the common start of all clients to the
-- last client's end. ips: rows inserted / T, in an index step existing rows / T; dps: rows deleted / T; qps: queries /
-- T; NULL where a step has no such operation. `throughput` is qps in query steps, else ips. Rates of published runs are
-- as published.
WITH totals AS (
    SELECT
        run_id, step_id,
        sum("rows") FILTER (role = 'inserter') AS inserted,
        sum("rows") FILTER (role = 'deleter') AS deleted,
        sum(ops) FILTER (role = 'querier') AS queries,
        sum(errors)::BIGINT AS errors, sum(retries)::BIGINT AS retries, sum(unknown)::BIGINT AS unknown,
        CASE WHEN count(*) = count(cpu_user_s + cpu_system_s) THEN sum(cpu_user_s + cpu_system_s) END AS cpu_s
    FROM workers GROUP BY run_id, step_id
)
SELECT
    s.run_id, s.step_id,
    CASE s.kind WHEN 'index' THEN s.existing_rows ELSE t.inserted END / nullif(s.duration_s, 0) AS ips,
    t.deleted / nullif(s.duration_s, 0) AS dps,
    t.queries / nullif(s.duration_s, 0) AS qps,
    CASE s.kind WHEN 'query' THEN qps ELSE ips END AS throughput,
    t.cpu_s * 1e6 / nullif(throughput * s.duration_s, 0) AS ccpupq_us,
    t.errors, t.retries, t.unknown
FROM steps s LEFT JOIN totals t USING (run_id, step_id)
UNION ALL
SELECT run_id, step_id, ips, dps, qps, coalesce(qps, ips), NULL, NULL, NULL, NULL FROM published_metrics
