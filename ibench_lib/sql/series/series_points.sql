-- The values of metrics by run, with what makes a run a point of a series: its build and version, when it began, and what
-- must be equal along a series (benchmark, scale, host class, client core). Rows of runs or steps that did not
-- complete, and of steps that the clients limited, that missed a target rate or that took less than a second, have NULL
-- as `value` and the reason in `problem`. Steps loaded from a snapshot have no rows. `is_rate`: it is the rate of the
-- step's main operations.
--
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
FROM questions.metric_values($runs, $steps) m
JOIN runs r USING (run_id)
LEFT JOIN steps s USING (run_id, step_id)
LEFT JOIN rates ON rates.run_id = m.run_id AND rates.step_id = m.step_id AND rates.metric = m.metric
WHERE list_contains($metrics::VARCHAR[], m.metric) AND m.step_status <> 'loaded from a snapshot'
ORDER BY r.experiment, r.flavour, r.config, r.setup, m.step_id, m.metric, m.operation, m.timing, r.origin_wall, m.run_id
