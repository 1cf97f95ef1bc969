-- The resources that each selected step used: means over the step (`step_use`), per operation where the name says
-- so. `covered`: the part of the step that the readings cover; under 0.95, means and costs are NULL. Operations are
-- those of the step's throughput (`step_rates`). rps, wps, rmbps, wmbps: reads, writes and MB (of 1024 KB) a second
-- of the device that holds the data; if several do, the one with the longest name (a partition, not its disk). csps:
-- context switches a second; cpups: user and system CPU of the host in %, 100 is all its CPUs for all of the time;
-- with readings at the step's ends, cpupq times the rate says it too. rpq, rkbpq, cspq: reads, KB read and context
-- switches per operation; cpupq, scpupq: CPU microseconds of the host and of the server's process per operation.
-- wpi, wkbpi: writes and KB written per row of `row_rate`. These are of what was done while the counters grew
-- (`op_seconds`). other_cpu: the share in % of the host's CPU time in user mode and in the kernel that neither the
-- server nor the clients used; it is in cpupq and cpups, and cspq and csps have its switches. rss: GiB, the server's
-- peak resident size: the kernel's mark, or the largest sample where it could not be reset at the step's start.
-- dbgb1, dbgb2: GiB of the benchmark's database and of the whole data directory at the step's end. ipq: instructions
-- of the server's process per operation; cpi: its cycles per instruction (`processor_work`). NULL: not captured.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH chosen AS (
    FROM steps_of($ids, $names)
), used AS MATERIALIZED (
    FROM step_use($ids, $names)
), host AS (
    SELECT
        run_id, step_id,
        any_value(grown / seconds) FILTER (counter = 'context_switches' AND known) AS csps,
        any_value(grown / op_seconds) FILTER (counter = 'context_switches' AND known) AS switches,
        sum(grown) FILTER (counter IN ('cpu_user_s', 'cpu_system_s') AND known) AS busy_s,
        -- The kernel may account for less than all of the time: that is for hosts whose CPUs nobody counted.
        sum(grown) FILTER (
            counter IN ('cpu_user_s', 'cpu_system_s', 'cpu_iowait_s', 'cpu_steal_s', 'cpu_idle_s') AND known
        ) AS all_s,
        any_value(seconds) FILTER (counter = 'cpu_user_s' AND known) AS seconds,
        any_value(op_seconds) FILTER (counter = 'cpu_user_s' AND known) AS op_seconds
    FROM used WHERE source = 'host' GROUP BY ALL
), devices AS (
    SELECT
        run_id, step_id, name AS device,
        any_value(grown / seconds) FILTER (counter = 'reads' AND known) AS rps,
        any_value(grown / seconds) FILTER (counter = 'writes' AND known) AS wps,
        any_value(grown / seconds) FILTER (counter = 'read_bytes' AND known) / 1024 AS rkbps,
        any_value(grown / seconds) FILTER (counter = 'written_bytes' AND known) / 1024 AS wkbps,
        any_value(grown / op_seconds) FILTER (counter = 'reads' AND known) AS reads,
        any_value(grown / op_seconds) FILTER (counter = 'read_bytes' AND known) / 1024 AS read_kb,
        any_value(grown / row_seconds) FILTER (counter = 'writes' AND known) AS writes,
        any_value(grown / row_seconds) FILTER (counter = 'written_bytes' AND known) / 1024 AS written_kb
    FROM used WHERE source = 'device' GROUP BY run_id, step_id, name
    QUALIFY row_number() OVER (PARTITION BY run_id, step_id ORDER BY length(name) DESC, name) = 1
), server AS (
    FROM server_cpus(used)
), covered AS (
    -- Nothing of a step that has no sample inside, in a run that has samples.
    SELECT c.run_id, c.step_id, least(coalesce(min(u.share), 0), 1) AS covered
    FROM chosen c
    SEMI JOIN host_samples USING (run_id)
    LEFT JOIN used u USING (run_id, step_id)
    GROUP BY ALL
), memory AS (
    SELECT
        s.run_id, s.step_id, coalesce(any_value(c.end_value), max(p.resident_bytes)) / 1024**3 AS rss
    FROM chosen s
    LEFT JOIN (FROM step_counters WHERE source = 'process' AND counter = 'peak_resident_bytes') c USING (run_id, step_id)
    LEFT JOIN process_samples p ON p.run_id = s.run_id AND p.t_s >= s.start_s AND p.t_s <= s.end_s
    GROUP BY s.run_id, s.step_id
), sized AS (
    SELECT
        run_id, step_id, max(bytes) FILTER (what = 'database') / 1024**3 AS dbgb1,
        max(bytes) FILTER (what = 'datadir') / 1024**3 AS dbgb2
    FROM sizes WHERE name = '' GROUP BY ALL
)
SELECT
    s.run_id, s.step_id,
    d.rps, d.wps, d.rkbps / 1024 AS rmbps, d.wkbps / 1024 AS wmbps, h.csps,
    100 * h.busy_s / nullif(coalesce(h.seconds * try_cast(n.host::JSON->>'$.logical_cpus' AS DOUBLE), h.all_s), 0) AS cpups,
    d.reads / nullif(r.throughput, 0) AS rpq, d.read_kb / nullif(r.throughput, 0) AS rkbpq,
    d.writes / nullif(r.row_rate, 0) AS wpi, d.written_kb / nullif(r.row_rate, 0) AS wkbpi,
    h.switches / nullif(r.throughput, 0) AS cspq,
    1e6 * h.busy_s / nullif(h.op_seconds, 0) / nullif(r.throughput, 0) AS cpupq,
    1e6 * v.cpus / nullif(r.throughput, 0) AS scpupq,
    -- Ticks of 10 ms may give the two a little more than there was.
    CASE WHEN a.own > 1 THEN 0 ELSE 100 * (1 - a.own) END AS other_cpu,
    p.instructions_per_s / nullif(r.throughput, 0) AS ipq, p.cpi, m.rss, z.dbgb1, z.dbgb2, o.covered
FROM chosen s
JOIN runs n USING (run_id)
LEFT JOIN rates_of_steps($ids, $names) r USING (run_id, step_id)
LEFT JOIN host h USING (run_id, step_id)
LEFT JOIN devices d USING (run_id, step_id)
LEFT JOIN server v USING (run_id, step_id)
LEFT JOIN memory m USING (run_id, step_id)
LEFT JOIN covered o USING (run_id, step_id)
LEFT JOIN sized z USING (run_id, step_id)
LEFT JOIN processor_work($ids, $names) p USING (run_id, step_id)
LEFT JOIN LATERAL (
    SELECT (v.cpus + r.ccpupq_us * r.throughput / 1e6) / nullif(h.busy_s / nullif(h.op_seconds, 0), 0) AS own
) a ON true
