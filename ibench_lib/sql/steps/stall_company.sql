-- What else changed during the stalls of each run and step: for every sampled series (`sampled`), the mean in a stall
-- and the mean of the seconds outside of all stalls. Rows with a NULL `stall` cover all stalls of a step together, one
-- row per series; other rows cover one stall and only the series that changed in it. An interval that overlaps a stall
-- counts in proportion to the overlap; `samples` is the number of values that overlap it. Means of request times
-- (read_ms, write_ms, flush_ms) are over time, not over requests. `other_low` to `other_high` is the range of 95 % of
-- the samples outside. `moved`: the mean lies outside of that range, and after adding `least` to both means (so that
-- tiny ones do not count) it is at least 1.25 times or at most 0.8 times the other. `place` numbers the changes, the
-- largest relative one first. `least`: 64 KiB/s, 1 MiB, 0.05 CPUs or share of the time, 0.1 ms, else 10/s, or 1 for
-- values that are not rates. Statements and rows are left out, because they only repeat that the clients did less.
-- NULL: not captured.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH stalled AS (
    SELECT run_id, step_id, stall, min(second)::DOUBLE AS from_s, max(second) + 1.0::DOUBLE AS to_s
    FROM rated_seconds($runs, $steps) WHERE stall IS NOT NULL GROUP BY ALL
), taken AS (
    -- `span_s` is 0 for what is read at a moment.
    SELECT *, coalesce(seconds, 0) AS span_s FROM sampled($runs, $steps) SEMI JOIN stalled USING (run_id, step_id)
    WHERE series NOT IN (
        'uptime_s', 'virtual_bytes', 'questions_per_s', 'rows_inserted_per_s', 'rows_deleted_per_s', 'rows_read_per_s'
    )
), moments AS (
    SELECT DISTINCT run_id, step_id, source, t_s, span_s FROM taken WHERE t_s IS NOT NULL
), inside AS (
    SELECT
        m.*, s.stall, CASE span_s WHEN 0 THEN 1 ELSE least(m.t_s, s.to_s) - greatest(m.t_s - span_s, s.from_s) END AS weight
    FROM moments m JOIN stalled s
        ON s.run_id = m.run_id AND s.step_id = m.step_id AND m.t_s >= s.from_s AND m.t_s - span_s < s.to_s
), outside AS (
    SELECT m.*, CASE span_s WHEN 0 THEN 1 ELSE span_s END - coalesce(i.weight, 0) AS weight, i.weight IS NULL AS wholly
    FROM moments m
    LEFT JOIN (SELECT * EXCLUDE (stall, weight), sum(weight) AS weight FROM inside GROUP BY ALL) i
        USING (run_id, step_id, source, t_s, span_s)
), others AS (
    SELECT
        run_id, step_id, source, series, quantile_cont(value, 0.025) FILTER (wholly) AS other_low,
        quantile_cont(value, 0.975) FILTER (wholly) AS other_high,
        sum(value * weight) / nullif(sum(weight) FILTER (value IS NOT NULL), 0) AS other_mean
    FROM taken LEFT JOIN outside USING (run_id, step_id, source, t_s, span_s)
    GROUP BY ALL
), within AS (
    SELECT
        run_id, step_id, source, series, stall, count(value) FILTER (weight > 0) AS samples,
        sum(value * weight) / nullif(sum(weight) FILTER (value IS NOT NULL), 0) AS stall_mean
    FROM taken JOIN inside USING (run_id, step_id, source, t_s, span_s)
    GROUP BY GROUPING SETS ((run_id, step_id, source, series, stall), (run_id, step_id, source, series))
), compared AS (
    SELECT
        o.*, w.stall, coalesce(w.samples, 0) AS samples, w.stall_mean,
        CASE WHEN o.series LIKE '%bytes\_per\_s' ESCAPE '\' THEN 65536 WHEN o.series LIKE '%bytes' THEN 1048576
             WHEN o.series LIKE '%\_ms' ESCAPE '\' THEN 0.1
             WHEN o.series LIKE '%\_s\_per\_s' ESCAPE '\' OR o.series = 'cpu_per_s' THEN 0.05
             WHEN o.series LIKE '%\_per\_s' ESCAPE '\' THEN 10 ELSE 1 END::DOUBLE AS least,
        abs(ln((w.stall_mean + least) / (o.other_mean + least))) AS size,
        (w.stall_mean < o.other_low OR w.stall_mean > o.other_high) AND size >= ln(1.25) AS moved
    FROM others o LEFT JOIN within w USING (run_id, step_id, source, series)
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status,
    m.stall, m.source, m.series, m.samples, m.stall_mean, m.other_mean, m.other_low, m.other_high, m.least, m.moved,
    CASE WHEN m.moved THEN row_number() OVER (
        PARTITION BY m.run_id, m.step_id, m.stall, m.moved ORDER BY m.size DESC, m.source, m.series
    ) END AS place
FROM compared m JOIN selected_steps($runs, $steps) c USING (run_id, step_id)
WHERE m.stall IS NULL OR m.moved
ORDER BY c.step_id, c.setup, c.dbms_position, c.repeat, m.stall NULLS FIRST, place NULLS LAST, m.source, m.series
