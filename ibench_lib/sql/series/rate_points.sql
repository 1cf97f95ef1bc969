-- The points of `series_points` for rates of operations, such as throughput and ips: no other metric is computed.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
-- $metrics: names of the metrics; others have no rows
WITH step_row AS (
    SELECT t.*, k.benchmark, k.counts, k.of_existing_rows, has_rates(k.benchmark) AS has_rates
    FROM questions.step_throughput($runs, $steps) t JOIN run_steps k USING (run_id, step_id)
), of_steps AS (
    SELECT run_id, step_id, unnest(rates_of_step(step_row)) AS metric FROM step_row
), metric_rows AS (
    SELECT
        s.*, NULL::VARCHAR AS operation, NULL::VARCHAR AS timing, o.metric.name AS metric, o.metric.value AS value
    FROM of_steps o JOIN step_row s USING (run_id, step_id) WHERE o.metric.applies
)
SELECT * FROM points_of(metric_rows, $runs, $steps, $metrics)
ORDER BY experiment, flavour, config, setup, step_id, metric, operation, timing, origin_wall, run_id
