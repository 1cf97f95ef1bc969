-- Every metric of every chosen run and step, one row each, by the names of ibench_lib/metrics.py and in their units. A
-- step has rows for what applies to it: no dps where nothing is deleted, fairness only where clients have equal work.
-- Response times are per operation, with `timing` service (sent to answered) or intended (due to answered; only
-- rate-limited operations); both are NULL for metrics of the whole step. A percentile is left out
-- where a complete run has no response beyond it (p99 needs 100 responses): it would be the largest once more. `value` NULL: not captured, or the step did
-- not get there; figures of a step whose status is not complete cover what was done.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH wide AS (
    SELECT t.*, r.* EXCLUDE (setup, dbms, dbms_position, repeat, run_status, step, kind, step_status),
           f.diff_s, f.pct, g.get_min_s
    FROM questions.step_throughput($runs, $steps) t
    LEFT JOIN questions.step_resources($runs, $steps) r USING (run_id, step_id)
    LEFT JOIN questions.fairness($runs, $steps) f USING (run_id, step_id)
    LEFT JOIN questions.get_min($runs, $steps) g USING (run_id, step_id)
), of_steps AS (
    SELECT run_id, step_id, NULL AS operation, NULL AS timing, unnest([
        {name: 'ips', value: ips, applies: kind IS DISTINCT FROM 'query' OR ips IS NOT NULL},
        {name: 'dps', value: dps, applies: dps IS NOT NULL},
        {name: 'qps', value: qps, applies: kind = 'query'},
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
        {name: 'dbgb2', value: dbgb2, applies: true}
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
