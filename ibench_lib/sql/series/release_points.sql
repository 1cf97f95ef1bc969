-- What is compared from release to release, for each run and step: the rate of its main operations (`is_rate`), what an
-- operation costs, the 99th percentile of the main operations, and the history list at the end. The columns of
-- `series_points` are followed by the dbms and by the name of the rate; `missed`: the step missed its target rate.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH points AS (
    SELECT * FROM questions.series_points(
        $runs, $steps,
        (SELECT list(metric) FROM rate_metrics)
        || ['throughput', 'cpupq', 'scpupq', 'cspq', 'rpq', 'wkbpi', 'hll', 'response_p99_ms']
    )
), of_main AS (
    SELECT DISTINCT s.run_id, s.step_id, o.operation
    FROM selected_steps($runs, $steps) s JOIN operations o ON o.run_id = s.run_id AND o.family = s.main
)
SELECT
    p.*, t.dbms, t.dbms_position, t.rate_label,
    coalesce(p.problem = 'the step missed its target rate', false) AS missed
FROM points p
JOIN selected_steps($runs, $steps) t USING (run_id, step_id)
LEFT JOIN of_main o ON o.run_id = p.run_id AND o.step_id = p.step_id AND o.operation = p.operation
LEFT JOIN (SELECT DISTINCT metric FROM rate_metrics) known ON known.metric = p.metric
WHERE
    CASE WHEN p.metric = 'response_p99_ms' THEN o.operation IS NOT NULL AND p.timing = 'service'
         WHEN known.metric IS NOT NULL OR p.metric = 'throughput' THEN p.is_rate
         ELSE true END
ORDER BY t.dbms_position, p.setup, p.step_id, p.metric, p.operation, p.repeat, p.run_id
