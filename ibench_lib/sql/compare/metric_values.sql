-- Every metric of every chosen run and step, one row each, by the names of ibench_lib/metrics.py and in their units. A
-- step has rows for what applies to it, such as fairness only where clients have equal work. Response times are per
-- operation, with `timing` service (sent to answered) or intended (due to answered; only rate-limited operations); both
-- are NULL for metrics of the whole step. A percentile is left out if a complete run has too few responses for it
-- (p99 needs 100): it would only repeat the maximum. `value` NULL: not captured, or the step did not get there; figures
-- of a step whose status is not complete cover what was done. `covered`: the part of the step that the readings of the
-- host, its devices and the server's process cover; under 0.95, means and costs are NULL.
-- `unsent_share`: of responses with the timing intended, as in `response_time_histogram`.
-- `statistics_lag`: the server's statistics of its tables were not up to date, so table_data and table_index are NULL.
-- `at_target`: of a rate: whether its operations had a target rate, and the run reached each of its targets.
-- `compared`: whether the step's throughput is a result (a warm-up's is none). `reason`: why the response time was not
-- recorded, NULL if it was.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH sized AS (
    SELECT run_id, step_id, table_data, table_index, system, undo, redo, temporary, binary_log, statistics_lag
    FROM questions.sizes_at_step_end($runs, $steps)
), device AS (
    -- If several devices hold the data, the one whose figures rps and wps are.
    SELECT
        run_id, step_id, read_wait_ms, read_kb, write_wait_ms, write_kb, flushes_per_s, flush_wait_ms, queue, busy_pct
    FROM questions.device_averages($runs, $steps)
    QUALIFY row_number() OVER (PARTITION BY run_id, step_id ORDER BY length(device) DESC, device) = 1
), step_row AS (
    SELECT t.*, r.* EXCLUDE (setup, dbms, dbms_position, repeat, run_status, step, kind, step_status),
           k.benchmark, k.counts, k.paced AS paced_families, k.equal_work, k.of_existing_rows,
           has_rates(k.benchmark) AS has_rates,
           f.diff_s, f.pct, q.rate_p50, q.rate_p99, z.* EXCLUDE (run_id, step_id), d.* EXCLUDE (run_id, step_id)
    FROM questions.step_throughput($runs, $steps) t
    JOIN run_steps k USING (run_id, step_id)
    LEFT JOIN questions.step_resources($runs, $steps) r USING (run_id, step_id)
    LEFT JOIN questions.fairness($runs, $steps) f USING (run_id, step_id)
    LEFT JOIN questions.rate_stability($runs, $steps) q USING (run_id, step_id)
    LEFT JOIN sized z USING (run_id, step_id)
    LEFT JOIN device d USING (run_id, step_id)
), of_steps AS (
    -- What is in the lists is declared in ibench_lib/metrics.py.
    SELECT run_id, step_id, unnest(metrics_of_step(step_row)) AS metric FROM step_row
), rates AS (
    SELECT metric, list(family) AS families FROM rate_metrics GROUP BY metric
), operation_row AS (
    SELECT *, min(responses) FILTER (step_status = 'complete')
                  OVER (PARTITION BY setup, step_id, operation, timing) AS fewest
    FROM questions.response_time_histogram($runs, $steps)
), of_responses AS (
    SELECT
        run_id, step_id, operation, timing, operation_position, unsent_share, reason,
        unnest(metrics_of_operation(operation_row)) AS metric
    FROM operation_row
), known AS (
    SELECT run_id, step_id, metric.name AS metric, metric.value AS value FROM of_steps WHERE metric.applies
    UNION ALL BY NAME
    SELECT
        run_id, step_id, operation, timing, operation_position, unsent_share, metric.name AS metric, metric.value AS value,
        reason
    FROM of_responses WHERE coalesce(metric.applies, reason IS NOT NULL)
    UNION ALL BY NAME
    FROM workload_metrics($runs, $steps)
)
SELECT
    s.setup, s.dbms, s.dbms_position, s.repeat, s.run_id, s.run_status, s.step_id, s.step, s.kind, s.step_status,
    s.client_bound, s.sla_failed, s.covered, s.statistics_lag, k.operation, k.timing, k.metric, k.value, k.operation_position,
    k.unsent_share, s.compared,
    coalesce(s.target_per_s IS NOT NULL AND NOT s.sla_failed AND list_has_any(s.paced_families, r.families), false) AS at_target,
    CASE WHEN k.value IS NULL THEN k.reason END AS reason
FROM known k JOIN step_row s USING (run_id, step_id) LEFT JOIN rates r ON r.metric = k.metric
ORDER BY s.step_id, s.setup, k.operation NULLS FIRST, k.timing DESC, k.metric, s.dbms_position, s.repeat
