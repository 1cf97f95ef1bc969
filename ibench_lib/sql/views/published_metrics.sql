-- Published figures that every workload has, one row per run and step, one column per metric.
SELECT
    run_id, step_id, round(max(value) FILTER (metric = 'hll'))::BIGINT AS hll,
    max(value) FILTER (metric = 'fairness_diff_s') AS diff_s, max(value) FILTER (metric = 'fairness_pct') AS pct
FROM published
GROUP BY run_id, step_id
