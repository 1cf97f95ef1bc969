-- Every metric of every chosen run and step, one row each, by the names of ibench_lib/metrics.py and in their units. A
-- step has rows for what applies to it: no dps where nothing is deleted, fairness only where clients have equal work.
-- Response times are per operation, with `timing` service (sent to answered) or intended (due to answered; only
-- rate-limited operations); both are NULL for metrics of the whole step. A percentile is left out where a complete run
-- has no response beyond it (p99 needs 100 responses): it would be the largest once more. `value` NULL: not captured,
-- or the step did not get there; figures of a step whose status is not complete cover what was done.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH sized AS (
    SELECT run_id, step_id, table_data, table_index, system, undo, redo, temporary, binary_log
    FROM questions.sizes_at_step_end($runs, $steps)
), device AS (
    -- Of several that hold the data, the one that rps and wps are of.
    SELECT
        run_id, step_id, read_wait_ms, read_kb, write_wait_ms, write_kb, flushes_per_s, flush_wait_ms, queue, busy_pct
    FROM questions.device_averages($runs, $steps)
    QUALIFY row_number() OVER (PARTITION BY run_id, step_id ORDER BY length(device) DESC, device) = 1
), wide AS (
    SELECT t.*, r.* EXCLUDE (setup, dbms, dbms_position, repeat, run_status, step, kind, step_status),
           f.diff_s, f.pct, g.get_min_s, q.rate_p50, q.rate_p99, z.* EXCLUDE (run_id, step_id),
           d.* EXCLUDE (run_id, step_id)
    FROM questions.step_throughput($runs, $steps) t
    LEFT JOIN questions.step_resources($runs, $steps) r USING (run_id, step_id)
    LEFT JOIN questions.fairness($runs, $steps) f USING (run_id, step_id)
    LEFT JOIN questions.get_min($runs, $steps) g USING (run_id, step_id)
    LEFT JOIN questions.rate_stability($runs, $steps) q USING (run_id, step_id)
    LEFT JOIN sized z USING (run_id, step_id)
    LEFT JOIN device d USING (run_id, step_id)
), of_steps AS (
    SELECT run_id, step_id, NULL AS operation, NULL AS timing, unnest([
        {name: 'ips', value: ips, applies: kind IS DISTINCT FROM 'query' OR ips IS NOT NULL},
        {name: 'dps', value: dps, applies: dps IS NOT NULL},
        {name: 'qps', value: qps, applies: kind = 'query'},
        {name: 'rate_p50', value: rate_p50, applies: kind IS DISTINCT FROM 'index'},
        {name: 'rate_p99', value: rate_p99, applies: kind IS DISTINCT FROM 'index'},
        {name: 'maxop', value: maxop_s, applies: true},
        {name: 'hll', value: history_list_length, applies: true},
        {name: 'get_min_s', value: get_min_s, applies: true},
        {name: 'fairness_diff_s', value: diff_s, applies: kind IN ('load', 'write')},
        {name: 'fairness_pct', value: pct, applies: kind IN ('load', 'write')},
        {name: 'ccpupq', value: ccpupq_us, applies: true},
        {name: 'cpupq', value: cpupq, applies: true},
        {name: 'scpupq', value: scpupq, applies: true},
        {name: 'rps', value: rps, applies: true},
        {name: 'wps', value: wps, applies: true},
        {name: 'rmbps', value: rmbps, applies: true},
        {name: 'wmbps', value: wmbps, applies: true},
        {name: 'rpq', value: rpq, applies: true},
        {name: 'rkbpq', value: rkbpq, applies: true},
        {name: 'wpi', value: wpi, applies: kind IS DISTINCT FROM 'query' OR ips IS NOT NULL},
        {name: 'wkbpi', value: wkbpi, applies: kind IS DISTINCT FROM 'query' OR ips IS NOT NULL},
        {name: 'csps', value: csps, applies: true},
        {name: 'cpups', value: cpups, applies: true},
        {name: 'cspq', value: cspq, applies: true},
        {name: 'rss', value: rss, applies: true},
        {name: 'dbgb1', value: dbgb1, applies: true},
        {name: 'dbgb2', value: dbgb2, applies: true},
        {name: 'read_wait_ms', value: read_wait_ms, applies: true},
        {name: 'read_kb', value: read_kb, applies: true},
        {name: 'write_wait_ms', value: write_wait_ms, applies: true},
        {name: 'write_kb', value: write_kb, applies: true},
        {name: 'flushes_per_s', value: flushes_per_s, applies: true},
        {name: 'flush_wait_ms', value: flush_wait_ms, applies: true},
        {name: 'queue', value: queue, applies: true},
        {name: 'busy_pct', value: busy_pct, applies: true},
        {name: 'table_data', value: table_data, applies: true},
        {name: 'table_index', value: table_index, applies: true},
        {name: 'system', value: system, applies: true},
        {name: 'undo', value: undo, applies: true},
        {name: 'redo', value: redo, applies: true},
        {name: 'temporary', value: temporary, applies: true},
        {name: 'binary_log', value: binary_log, applies: true}
    ]) AS metric
    FROM wide
), of_responses AS (
    SELECT run_id, step_id, operation, timing, unnest([
        {name: 'response_p50_ms', value: 1e3 * p50_s, applies: fewest >= 2},
        {name: 'response_p90_ms', value: 1e3 * p90_s, applies: fewest >= 10},
        {name: 'response_p99_ms', value: 1e3 * p99_s, applies: fewest >= 100},
        {name: 'response_p999_ms', value: 1e3 * p999_s, applies: fewest >= 1000},
        {name: 'response_max_ms', value: 1e3 * max_s, applies: true}
    ]) AS metric
    FROM (
        SELECT *, min(responses) FILTER (step_status = 'complete')
                      OVER (PARTITION BY setup, step_id, operation, timing) AS fewest
        FROM questions.response_time_histogram($runs, $steps)
    )
)
SELECT
    w.setup, w.dbms, w.dbms_position, w.repeat, w.run_id, w.run_status, w.step_id, w.step, w.kind, w.step_status,
    w.client_bound, w.sla_failed, m.operation, m.timing, m.metric.name AS metric, m.metric.value AS value
FROM (FROM of_steps UNION ALL FROM of_responses) m JOIN wide w USING (run_id, step_id)
WHERE m.metric.applies
ORDER BY w.step_id, w.setup, m.operation NULLS FIRST, m.timing DESC, m.metric.name, w.dbms_position, w.repeat
