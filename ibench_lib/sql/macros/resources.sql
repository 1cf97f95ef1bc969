-- The resources that each selected step used: means from the first to the last sample inside the step, per operation
-- where the name says so. Operations are those of the step's throughput (`step_rates`). rps, wps, rmbps, wmbps: reads,
-- writes and MB (of 1024 KB) a second of the device that holds the data, of several the one with the longest name (a
-- partition, not its disk). csps: context switches a second; cpups: user and system CPU of the host in %, 100 is all of
-- it. rpq, rkbpq, cspq: reads, KB read and context switches per operation; cpupq, scpupq: CPU microseconds of the host
-- and of the server's process per operation. wpi, wkbpi: writes and KB written per row of `row_rate`. rss: GiB, the
-- server's peak resident size. dbgb1, dbgb2: GiB of the benchmark's database and of the whole data directory at the
-- step's end. NULL: not captured.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH chosen AS (
    FROM selected_steps($ids, $names)
), host AS (
    -- A rate times its seconds is a difference; where one is NULL, its seconds do not count either.
    SELECT
        s.run_id, s.step_id,
        sum(h.context_switches_per_s * h.seconds)
            / nullif(sum(h.seconds) FILTER (h.context_switches_per_s IS NOT NULL), 0) AS csps,
        sum((h.cpu_user_s_per_s + h.cpu_system_s_per_s) * h.seconds) AS busy_s,
        sum((h.cpu_user_s_per_s + h.cpu_system_s_per_s + h.cpu_iowait_s_per_s + h.cpu_steal_s_per_s
             + h.cpu_idle_s_per_s) * h.seconds) AS all_s,
        sum(h.seconds) FILTER (h.cpu_user_s_per_s + h.cpu_system_s_per_s IS NOT NULL) AS seconds
    FROM chosen s JOIN host_seconds h ON h.run_id = s.run_id AND h.t_s - h.seconds >= s.start_s AND h.t_s <= s.end_s
    GROUP BY ALL
), devices AS (
    SELECT
        s.run_id, s.step_id, d.device,
        sum(d.reads_per_s * d.seconds) / nullif(sum(d.seconds) FILTER (d.reads_per_s IS NOT NULL), 0) AS rps,
        sum(d.writes_per_s * d.seconds) / nullif(sum(d.seconds) FILTER (d.writes_per_s IS NOT NULL), 0) AS wps,
        sum(d.read_bytes_per_s * d.seconds)
            / nullif(sum(d.seconds) FILTER (d.read_bytes_per_s IS NOT NULL), 0) / 1024 AS rkbps,
        sum(d.written_bytes_per_s * d.seconds)
            / nullif(sum(d.seconds) FILTER (d.written_bytes_per_s IS NOT NULL), 0) / 1024 AS wkbps
    FROM chosen s JOIN device_seconds d ON d.run_id = s.run_id AND d.t_s - d.seconds >= s.start_s AND d.t_s <= s.end_s
    WHERE d.holds_data
    GROUP BY s.run_id, s.step_id, d.device
    QUALIFY row_number() OVER (PARTITION BY s.run_id, s.step_id ORDER BY length(d.device) DESC, d.device) = 1
), server AS (
    SELECT
        s.run_id, s.step_id,
        sum((p.cpu_user_s_per_s + p.cpu_system_s_per_s) * p.seconds) FILTER (p.t_s - p.seconds >= s.start_s)
            / nullif(sum(p.seconds) FILTER (p.t_s - p.seconds >= s.start_s
                                            AND p.cpu_user_s_per_s + p.cpu_system_s_per_s IS NOT NULL), 0) AS cpus,
        max(p.resident_bytes) / 1024**3 AS rss
    FROM chosen s JOIN process_seconds p ON p.run_id = s.run_id AND p.t_s >= s.start_s AND p.t_s <= s.end_s
    GROUP BY ALL
), sized AS (
    SELECT
        run_id, step_id, max(bytes) FILTER (what = 'database') / 1024**3 AS dbgb1,
        max(bytes) FILTER (what = 'datadir') / 1024**3 AS dbgb2
    FROM sizes WHERE name = '' GROUP BY ALL
)
SELECT
    s.run_id, s.step_id,
    d.rps, d.wps, d.rkbps / 1024 AS rmbps, d.wkbps / 1024 AS wmbps, h.csps, 100 * h.busy_s / nullif(h.all_s, 0) AS cpups,
    d.rps / nullif(r.throughput, 0) AS rpq, d.rkbps / nullif(r.throughput, 0) AS rkbpq,
    d.wps / nullif(r.row_rate, 0) AS wpi, d.wkbps / nullif(r.row_rate, 0) AS wkbpi,
    h.csps / nullif(r.throughput, 0) AS cspq,
    1e6 * h.busy_s / nullif(h.seconds, 0) / nullif(r.throughput, 0) AS cpupq,
    1e6 * v.cpus / nullif(r.throughput, 0) AS scpupq,
    v.rss, z.dbgb1, z.dbgb2
FROM chosen s
LEFT JOIN step_rates r USING (run_id, step_id)
LEFT JOIN host h USING (run_id, step_id)
LEFT JOIN devices d USING (run_id, step_id)
LEFT JOIN server v USING (run_id, step_id)
LEFT JOIN sized z USING (run_id, step_id)
