-- The operations of each selected step of LinkBench: how many, their share in %, the share that the mix of LinkBench
-- wants (`wanted`), the rows of an operation, how often
-- one was repeated after an error, and response times from sent to answered, over all statements and repeats of an
-- operation. The mean and the largest are exact; percentiles come from bins with an error under 1 %, and are NULL where
-- fewer responses were answered than a percentile needs (p99: 100). Of an imported step it has the counts at its end.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    FROM selected_steps($runs, $steps) WHERE benchmark = 'linkbench' AND kind IN ('warm_up', 'requests', 'control')
), planned AS (
    SELECT
        run_id,
        from_json(
            workload::JSON->'$.resolved_steps',
            '[{"printed": {"operations": [{"operation": "VARCHAR", "count": "BIGINT"}]}}]'
        ) AS steps
    FROM selected_runs($runs) WHERE benchmark = 'linkbench' AND origin = 'imported'
), of_steps AS (
    SELECT run_id, generate_subscripts(steps, 1) - 1 AS step_id, unnest(steps).printed.operations AS operations FROM planned
), printed AS (
    SELECT run_id, step_id, unnest(operations, recursive := true) FROM of_steps SEMI JOIN chosen USING (run_id, step_id)
), counted AS (
    SELECT
        run_id, step_id, operation, "count" AS done, NULL AS rows_per_op, NULL AS repeats, NULL AS errors, NULL AS mean_s,
        NULL AS max_s
    FROM printed
    UNION ALL
    SELECT
        o.run_id, o.step_id, o.operation, sum(o.ops)::BIGINT AS done,
        sum(o."rows") / nullif(sum(o.ops), 0) AS rows_per_op,
        sum(o.retries)::BIGINT AS repeats, sum(o.errors)::BIGINT AS errors,
        sum(o.service_sum_us) / nullif(sum(o.ops), 0) / 1e6 AS mean_s, max(o.service_max_us) / 1e6 AS max_s
    FROM ops o SEMI JOIN chosen USING (run_id, step_id) ANTI JOIN printed USING (run_id, step_id) GROUP BY ALL
), recorded AS (
    SELECT {run_id: run_id, step_id: step_id, operation: operation} AS series, bins, counts
    FROM response_histograms SEMI JOIN chosen USING (run_id, step_id) WHERE timing = 'service'
), cumulated AS (
    SELECT unnest(series), seconds_of_us(mid_us) AS mid_s, up_to, total FROM cumulated_bins(recorded)
), percentiles AS (
    SELECT
        run_id, step_id, operation,
        min(mid_s) FILTER (up_to >= 0.25 * total) AS p25_s, min(mid_s) FILTER (up_to >= 0.50 * total) AS p50_s,
        min(mid_s) FILTER (up_to >= 0.75 * total) AS p75_s,
        min(mid_s) FILTER (up_to >= 0.95 * total AND total >= 20) AS p95_s,
        min(mid_s) FILTER (up_to >= 0.99 * total AND total >= 100) AS p99_s,
        min(mid_s) FILTER (up_to >= 0.999 * total AND total >= 1000) AS p999_s
    FROM cumulated GROUP BY ALL
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status,
    c.client_bound,
    n.operation, n.done, 100.0 * n.done / nullif(sum(n.done) OVER (PARTITION BY n.run_id, n.step_id), 0) AS share,
    try_cast(r.workload::JSON->'$.mix'->>n.operation AS DOUBLE) AS wanted,
    n.rows_per_op, n.repeats, n.errors, least(p.p25_s, n.max_s) AS p25_s, least(p.p50_s, n.max_s) AS p50_s,
    least(p.p75_s, n.max_s) AS p75_s, CASE WHEN p.p95_s IS NOT NULL THEN least(p.p95_s, n.max_s) END AS p95_s,
    CASE WHEN p.p99_s IS NOT NULL THEN least(p.p99_s, n.max_s) END AS p99_s,
    CASE WHEN p.p999_s IS NOT NULL THEN least(p.p999_s, n.max_s) END AS p999_s, n.max_s, n.mean_s
FROM counted n
JOIN chosen c USING (run_id, step_id)
JOIN runs r ON r.run_id = n.run_id
LEFT JOIN operations x ON x.run_id = n.run_id AND x.operation = n.operation
LEFT JOIN percentiles p ON p.run_id = n.run_id AND p.step_id = n.step_id AND p.operation = n.operation
ORDER BY min_by(c.step_id, c.repeat) OVER (PARTITION BY c.setup, c.step), c.setup, x.position, c.dbms_position, c.repeat
