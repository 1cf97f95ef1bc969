-- Values of metrics as points of series: the columns of `series_points`.
--
-- $metric_rows: name of a table with the columns of `metric_values`
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
-- $metrics: names of the metrics
WITH rates AS (
    SELECT DISTINCT s.run_id, s.step_id, coalesce(x.metric, 'throughput') AS metric
    FROM selected_steps($runs, $steps) s LEFT JOIN rate_metrics x ON x.family = s.main
)
SELECT
    r.experiment, r.flavour, r.config, r.setup, m.step_id, m.step, r.benchmark, r.scale,
    r.host ->> 'host_class' AS host_class, coalesce(r.versions ->> '$."client core"', 'Python') AS client_core,
    m.metric, m.operation, m.timing, r.build, r.server_version, r.cell_order,
    r.origin_wall, m.repeat, m.run_id,
    CASE WHEN m.run_status <> 'complete' THEN 'its run did not complete'
         WHEN m.step_status <> 'complete' THEN 'the step did not complete'
         WHEN m.client_bound IS NOT NULL THEN 'the clients limited the step'
         WHEN m.sla_failed THEN 'the step missed its target rate'
         WHEN s.duration_s < 1 THEN 'the step took less than 1 s' END AS problem,
    CASE WHEN problem IS NULL THEN m.value END AS value,
    rates.metric IS NOT NULL AS is_rate
FROM query_table($metric_rows) m
JOIN runs r USING (run_id)
LEFT JOIN steps s USING (run_id, step_id)
LEFT JOIN rates ON rates.run_id = m.run_id AND rates.step_id = m.step_id AND rates.metric = m.metric
WHERE list_contains($metrics::VARCHAR[], m.metric) AND m.step_status <> 'loaded from a snapshot'
