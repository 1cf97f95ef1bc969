-- The figures that iostat would show for the devices that hold the data: means over each run and step, from the first
-- to the last sample inside the step. rps, wps, flushes_per_s: reads, writes and flushes completed a second; rmbps,
-- wmbps: MB (of 1024 KB) a second; read_wait_ms, write_wait_ms, flush_wait_ms: mean time of a request, in the queue and
-- at the device; read_kb, write_kb: mean size of a request; queue: mean number of requests in flight; busy_pct: share
-- of the time with a request in flight. A partition and its disk are both listed. NULL: not captured, or no such
-- request.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    FROM selected_steps($runs, $steps)
), summed AS (
    -- A rate times its seconds is a difference; where one is NULL, its seconds do not count either.
    SELECT
        s.run_id, s.step_id, d.device,
        sum(d.seconds) FILTER (d.reads_per_s IS NOT NULL) AS seconds,
        sum(d.seconds) FILTER (d.flushes_per_s IS NOT NULL) AS flush_seconds,
        sum(d.reads_per_s * d.seconds) AS reads, sum(d.read_bytes_per_s * d.seconds) AS read_bytes,
        sum(d.read_s_per_s * d.seconds) AS read_s,
        sum(d.writes_per_s * d.seconds) AS writes, sum(d.written_bytes_per_s * d.seconds) AS written_bytes,
        sum(d.write_s_per_s * d.seconds) AS write_s,
        sum(d.flushes_per_s * d.seconds) AS flushes, sum(d.flush_s_per_s * d.seconds) AS flush_s,
        sum(d.queue_s_per_s * d.seconds) AS queue_s, sum(d.busy_s_per_s * d.seconds) AS busy_s
    FROM chosen s JOIN device_seconds d ON d.run_id = s.run_id AND d.t_s - d.seconds >= s.start_s AND d.t_s <= s.end_s
    WHERE d.holds_data
    GROUP BY s.run_id, s.step_id, d.device
)
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, step_status, device,
    reads / nullif(seconds, 0) AS rps, read_bytes / nullif(seconds, 0) / 1024**2 AS rmbps,
    1000 * read_s / nullif(reads, 0) AS read_wait_ms, read_bytes / nullif(reads, 0) / 1024 AS read_kb,
    writes / nullif(seconds, 0) AS wps, written_bytes / nullif(seconds, 0) / 1024**2 AS wmbps,
    1000 * write_s / nullif(writes, 0) AS write_wait_ms, written_bytes / nullif(writes, 0) / 1024 AS write_kb,
    flushes / nullif(flush_seconds, 0) AS flushes_per_s, 1000 * flush_s / nullif(flushes, 0) AS flush_wait_ms,
    queue_s / nullif(seconds, 0) AS queue, 100 * busy_s / nullif(seconds, 0) AS busy_pct
FROM chosen LEFT JOIN summed USING (run_id, step_id)
ORDER BY step_id, setup, dbms_position, device, repeat
