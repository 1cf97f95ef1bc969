-- What explains the rate of each selected step, one row per run and step. `throughput` is the rate X of the step's main
-- operations, `cpus_used` the CPUs that the host used in user mode and in the kernel (U), of `cpus` that it has, and
-- `cpu_us` what they cost per operation (D), so that X = U / D exactly: where the samples leave out the ends of the step,
-- its operations are taken to cost as much there (`op_seconds` of `step_use`). cpu_us is the sum of server_user_us,
-- server_system_us, clients_us and other_us, which is what neither server nor clients used.
--
-- Statements and their connections: `connections` is the number of clients' connections, `statements_per_s` what they
-- did; connections / statements_per_s is response_us + think_us: the mean time from sent to answered, and by difference
-- the mean time between statements. `in_flight` is the mean number of statements in flight, as it was counted second by
-- second; Little's law says that it is statements_per_s * response_us. Parts of the response time, per statement:
-- server_us, the CPU of the server's process, its background threads too; queued_us, the time in which its threads were
-- ready to run and had no CPU; read_us and flush_us, the time of the device's reads and flushes, for all that waited for
-- them; wait_us, times of mutexes, rwlocks and files by performance_schema, which times uncontended ones as well. All of
-- these are upper bounds of what a statement waits for. Figures are NULL where they were not captured, or where the
-- readings cover less than 95 % of the step (queued_us: 70 %; it is per statement of the seconds that were sampled).
-- `paced`: the main operations had a target rate, so the rate says more about the clients than about the server;
-- `others_paced`: only others had, such as the inserts next to queries. The server's CPU per operation is ipq * cpi /
-- clock_ghz (`processor_work`); counters_reason: why these are NULL. `compared`: whether the throughput is a result (a
-- warm-up's is none).
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS MATERIALIZED (
    FROM selected_steps($runs, $steps)
), used AS MATERIALIZED (
    FROM step_use($runs, $steps)
), host AS (
    SELECT
        run_id, step_id,
        sum(grown) FILTER (counter IN ('cpu_user_s', 'cpu_system_s') AND known) AS busy_s,
        any_value(op_seconds) FILTER (counter = 'cpu_user_s' AND known) AS seconds
    FROM used WHERE source = 'host' GROUP BY ALL
), server AS (
    FROM server_cpus(used)
), device AS (
    SELECT
        run_id, step_id, name,
        any_value(grown / op_seconds) FILTER (counter = 'read_s' AND known) AS reads,
        any_value(grown / op_seconds) FILTER (counter = 'flush_s' AND known) AS flushes
    FROM used WHERE source = 'device' GROUP BY run_id, step_id, name
    QUALIFY row_number() OVER (PARTITION BY run_id, step_id ORDER BY length(name) DESC, name) = 1
), statements AS (
    SELECT
        o.run_id, o.step_id, sum(o.ops)::DOUBLE AS done,
        CASE WHEN count(o.service_sum_us) = count(*) THEN sum(o.service_sum_us) END AS service_us,
        CASE WHEN count(o.in_flight_us) = count(*) THEN sum(o.in_flight_us) END AS in_flight_us
    FROM ops o SEMI JOIN chosen USING (run_id, step_id) GROUP BY ALL
), queueing AS MATERIALIZED (
    -- Samples that lie in the step, on its clock: those across its ends are left out.
    SELECT
        c.run_id, c.step_id, 'threads' AS source, c.duration_s, t.queued_s, t.seconds,
        t.t_s - t.seconds - c.start_s AS from_s, t.t_s - c.start_s AS to_s
    FROM chosen c
    JOIN thread_samples t
        ON t.run_id = c.run_id AND t.name = '' AND t.t_s - t.seconds >= c.start_s AND t.t_s <= c.end_s
), queueing_seconds AS (
    FROM covered_seconds(queueing)
), queueing_statements AS (
    -- The last second of a step is a part of one.
    SELECT
        o.run_id, o.step_id,
        sum(o.ops * least(q.covered_s / least(c.duration_s - o.second, 1), 1)) AS done
    FROM ops o
    JOIN chosen c USING (run_id, step_id)
    JOIN queueing_seconds q USING (run_id, step_id, second)
    WHERE o.second < c.duration_s
    GROUP BY ALL
), queued AS (
    SELECT
        run_id, step_id, sum(queued_s) / nullif(any_value(s.done), 0) AS per_statement,
        sum(seconds) / nullif(any_value(duration_s), 0) AS share
    FROM queueing LEFT JOIN queueing_statements s USING (run_id, step_id) GROUP BY ALL
), waited AS (
    SELECT run_id, step_id, sum(wait_s) * 1e6 / nullif(any_value(statements), 0) AS us
    FROM questions.waits($runs, $steps) WHERE timed GROUP BY ALL
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status,
    c.client_bound, c.target_rows_per_s IS NOT NULL AND list_contains(c.paced, c.main) AS paced,
    c.target_rows_per_s IS NOT NULL AND NOT list_contains(c.paced, c.main) AS others_paced, c.rate_label,
    r.host ->> 'host_class' AS host_class,
    coalesce(r.versions ->> '$."client core"', 'Python') AS client_core,
    c.duration_s, x.throughput, (r.host ->> 'logical_cpus')::INTEGER AS cpus,
    h.busy_s / nullif(h.seconds, 0) AS cpus_used,
    1e6 * cpus_used / nullif(x.throughput, 0) AS cpu_us,
    1e6 * v.user_cpus / nullif(x.throughput, 0) AS server_user_us,
    1e6 * v.system_cpus / nullif(x.throughput, 0) AS server_system_us,
    x.ccpupq_us AS clients_us, cpu_us - server_user_us - server_system_us - clients_us AS other_us,
    k.connections, s.done / nullif(c.duration_s, 0) AS statements_per_s, s.service_us / nullif(s.done, 0) AS response_us,
    1e6 * k.connections / nullif(statements_per_s, 0) - response_us AS think_us,
    s.in_flight_us / 1e6 / nullif(c.duration_s, 0) AS in_flight,
    1e6 * (v.user_cpus + v.system_cpus) / nullif(statements_per_s, 0) AS server_us,
    CASE WHEN q.share >= 0.7 THEN 1e6 * q.per_statement END AS queued_us,
    1e6 * d.reads / nullif(statements_per_s, 0) AS read_us, 1e6 * d.flushes / nullif(statements_per_s, 0) AS flush_us,
    w.us AS wait_us, p.instructions_per_s / nullif(x.throughput, 0) AS ipq, p.cpi, p.clock_ghz,
    CASE WHEN ipq IS NULL THEN coalesce(
        json_extract_string(r.null_reasons, '$."perf_counters"'),
        json_extract_string(r.null_reasons, '$."perf_counters.instructions"'),
        'the processor did not count over the step') END AS counters_reason,
    c.compared
FROM chosen c
JOIN runs r USING (run_id)
LEFT JOIN rates_of_steps($runs, $steps) x USING (run_id, step_id)
LEFT JOIN host h USING (run_id, step_id)
LEFT JOIN server v USING (run_id, step_id)
LEFT JOIN device d USING (run_id, step_id)
LEFT JOIN step_connections($runs, $steps) k USING (run_id, step_id)
LEFT JOIN statements s USING (run_id, step_id)
LEFT JOIN queued q USING (run_id, step_id)
LEFT JOIN waited w USING (run_id, step_id)
LEFT JOIN processor_work($runs, $steps) p USING (run_id, step_id)
ORDER BY c.step_id, c.setup, c.dbms_position, c.repeat
