-- Waits inside the server in each selected step, for runs that captured them: one row per source and event. Only
-- intervals that lie in the step as a whole count, so a step needs 20 seconds to have one for certain; `seconds` is
-- how much of the step they cover, and `operations` what the clients did in these seconds: of the step's main
-- operations, what its rate counts, rows or operations (`unit`). `statements`: those of all clients in these seconds.
-- An event that another repeat of the same result has counts as 0. `kind` is mutex, rwlock,
-- file or lock. `timed` tells the two sources apart: performance_schema counts acquisitions and times them, so
-- `ms_per_1000` is the time in milliseconds per 1,000 operations; SHOW ENGINE INNODB MUTEX counts waits and does not
-- time them, so `waits_per_1000` is all there is. `place` ranks the events of a run, step and source by what that
-- source gives, from 1. compared: whether the step's throughput is a result. step_kind: the kind of step.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    FROM selected_steps($runs, $steps) WHERE start_s IS NOT NULL
), inside AS (
    SELECT c.run_id, c.step_id, c.start_s, w.tick, w.source, w.event, w.waits, w.wait_s, w.t_s, w.seconds
    FROM chosen c JOIN waits w ON w.run_id = c.run_id AND w.t_s - w.seconds >= c.start_s AND w.t_s <= c.end_s
), covered AS (
    SELECT run_id, step_id, source, min(t_s - seconds - start_s) AS from_s, max(t_s - start_s) AS to_s
    FROM inside GROUP BY ALL
), weighed AS (
    -- Work is counted by whole seconds: of those that an interval cuts, the part counts that lies in it.
    SELECT
        v.run_id, v.step_id, v.source, o.ops, o."rows", x.family = c.main AS is_main,
        (least(v.to_s, o.second + 1, c.duration_s) - greatest(v.from_s, o.second))
            / nullif(least(o.second + 1, c.duration_s) - o.second, 0) AS share
    FROM covered v
    JOIN chosen c USING (run_id, step_id)
    JOIN ops o
        ON o.run_id = v.run_id AND o.step_id = v.step_id AND o.second + 1 > v.from_s AND o.second < v.to_s
    JOIN operations x ON x.run_id = o.run_id AND x.operation = o.operation
), done AS (
    SELECT
        v.run_id, v.step_id, v.source, any_value(v.to_s - v.from_s) AS seconds, sum(w.share * w.ops) AS statements,
        CASE
            WHEN any_value(c.of_existing_rows) THEN any_value(c.existing_rows * (v.to_s - v.from_s) / nullif(c.duration_s, 0))
            WHEN any_value(c.counts) = 'rows' THEN sum(w.share * w."rows") FILTER (w.is_main)
            ELSE sum(w.share * w.ops) FILTER (w.is_main)
        END AS operations
    FROM covered v JOIN weighed w USING (run_id, step_id, source) JOIN chosen c USING (run_id, step_id)
    WHERE w.share > 0
    GROUP BY v.run_id, v.step_id, v.source
), listed AS (
    -- Where a run has none of the waits that another repeat has, that is 0 of them.
    SELECT DISTINCT v.run_id, v.step_id, v.source, i.event
    FROM covered v
    JOIN chosen mine USING (run_id, step_id)
    JOIN chosen other ON other.setup = mine.setup AND other.step = mine.step AND other.dbms = mine.dbms
    JOIN inside i ON i.run_id = other.run_id AND i.step_id = other.step_id AND i.source = v.source
), counted AS (
    SELECT run_id, step_id, source, event, sum(waits)::BIGINT AS waits, sum(wait_s) AS wait_s FROM inside GROUP BY ALL
), summed AS (
    SELECT
        run_id, step_id, l.source, event, coalesce(k.waits, 0) AS waits,
        CASE WHEN k.waits IS NULL AND l.source = 'performance_schema' THEN 0 ELSE k.wait_s END AS wait_s
    FROM listed l LEFT JOIN counted k USING (run_id, step_id, source, event)
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status,
    c.compared, c.kind AS step_kind, c.client_bound, s.source, s.source = 'performance_schema' AS timed,
    CASE WHEN s.event LIKE 'wait/io/file/%' THEN 'file' WHEN s.event LIKE '%/mutex/%' THEN 'mutex'
         WHEN s.event LIKE '%/rwlock/%' OR s.event LIKE '%/sxlock/%' OR s.event ILIKE 'rwlock:%' THEN 'rwlock'
         WHEN s.event ILIKE '%mutex%' THEN 'mutex' ELSE 'lock' END AS kind,
    s.event, d.seconds, d.operations, CASE WHEN c.counts = 'rows' THEN 'rows' ELSE 'operations' END AS unit,
    d.statements, s.waits, s.wait_s,
    1000.0 * s.waits / nullif(d.operations, 0) AS waits_per_1000,
    1e6 * s.wait_s / nullif(d.operations, 0) AS ms_per_1000,
    row_number() OVER (
        PARTITION BY s.run_id, s.step_id, s.source ORDER BY coalesce(s.wait_s, 0) DESC, s.waits DESC, s.event
    ) AS place
FROM summed s
JOIN done d USING (run_id, step_id, source)
JOIN chosen c USING (run_id, step_id)
ORDER BY
    c.setup, min_by(c.step_id, c.repeat) OVER (PARTITION BY c.setup, c.step), s.source DESC, c.dbms_position, c.repeat,
    place
