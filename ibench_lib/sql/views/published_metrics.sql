-- Published figures, one row per run and step, one column per metric.
SELECT
    run_id, step_id,
    max(value) FILTER (metric = 'ips') AS ips, max(value) FILTER (metric = 'dps') AS dps,
    max(value) FILTER (metric = 'qps') AS qps, max(value) FILTER (metric = 'get_min_s') AS get_min_s,
    round(max(value) FILTER (metric = 'hll'))::BIGINT AS hll,
    max(value) FILTER (metric = 'fairness_diff_s') AS diff_s, max(value) FILTER (metric = 'fairness_pct') AS pct
FROM published
GROUP BY run_id, step_id
