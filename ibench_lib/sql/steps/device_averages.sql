-- The figures that iostat would show for the devices that hold the data: means over each run and step. rps, wps,
-- flushes_per_s: reads, writes and flushes completed a second; rmbps, wmbps: MB (of 1024 KB) a second; read_wait_ms,
-- write_wait_ms, flush_wait_ms: mean time of a request, in the queue and at the device; read_kb, write_kb: mean size of
-- a request; queue: mean number of requests in flight; busy_pct: share of the time with a request in flight. A
-- partition and its disk are both listed. `covered`: the part of the step that the readings cover (`step_use`); under
-- 0.95, all means are NULL; it is NULL itself of an imported step whose samples are enough. NULL: not captured, or no such
-- request.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    FROM selected_steps($runs, $steps)
), summed AS (
    SELECT
        run_id, step_id, name AS device, min(least(share, 1)) FILTER (NOT known OR share >= 0.95) AS covered,
        any_value(seconds) FILTER (counter = 'reads' AND known) AS seconds,
        any_value(seconds) FILTER (counter = 'flushes' AND known) AS flush_seconds,
        any_value(grown) FILTER (counter = 'reads' AND known) AS reads,
        any_value(grown) FILTER (counter = 'read_bytes' AND known) AS read_bytes,
        any_value(grown) FILTER (counter = 'read_s' AND known) AS read_s,
        any_value(grown) FILTER (counter = 'writes' AND known) AS writes,
        any_value(grown) FILTER (counter = 'written_bytes' AND known) AS written_bytes,
        any_value(grown) FILTER (counter = 'write_s' AND known) AS write_s,
        any_value(grown) FILTER (counter = 'flushes' AND known) AS flushes,
        any_value(grown) FILTER (counter = 'flush_s' AND known) AS flush_s,
        any_value(grown) FILTER (counter = 'queue_s' AND known) AS queue_s,
        any_value(grown) FILTER (counter = 'busy_s' AND known) AS busy_s
    FROM step_use($runs, $steps) WHERE source = 'device'
    GROUP BY run_id, step_id, name
)
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, step_status, device,
    reads / nullif(seconds, 0) AS rps, read_bytes / nullif(seconds, 0) / 1024**2 AS rmbps,
    1000 * read_s / nullif(reads, 0) AS read_wait_ms, read_bytes / nullif(reads, 0) / 1024 AS read_kb,
    writes / nullif(seconds, 0) AS wps, written_bytes / nullif(seconds, 0) / 1024**2 AS wmbps,
    1000 * write_s / nullif(writes, 0) AS write_wait_ms, written_bytes / nullif(writes, 0) / 1024 AS write_kb,
    flushes / nullif(flush_seconds, 0) AS flushes_per_s, 1000 * flush_s / nullif(flushes, 0) AS flush_wait_ms,
    queue_s / nullif(seconds, 0) AS queue, 100 * busy_s / nullif(seconds, 0) AS busy_pct,
    covered
FROM chosen LEFT JOIN summed USING (run_id, step_id)
ORDER BY step_id, setup, dbms_position, device, repeat
