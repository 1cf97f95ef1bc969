-- Waits inside the server in each selected step, for runs that captured them: one row per source and event. Only
-- intervals that lie in the step as a whole count, so a step needs 20 seconds to have one for certain; `seconds` is
-- how much of the step they cover, and `operations` is what the clients did in these seconds. `kind` is mutex, rwlock,
-- file or lock. `timed` tells the two sources apart: performance_schema counts acquisitions and times them, so
-- `ms_per_1000` is the time in milliseconds per 1,000 operations; SHOW ENGINE INNODB MUTEX counts waits and does not
-- time them, so `waits_per_1000` is all there is. `place` ranks the events of a run, step and source by what that
-- source gives, from 1. compared: whether the step's throughput is a result.
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
), done AS (
    SELECT v.run_id, v.step_id, v.source, v.to_s - v.from_s AS seconds, sum(o.ops) AS operations
    FROM covered v
    JOIN ops o ON o.run_id = v.run_id AND o.step_id = v.step_id
        -- Operations are counted by whole seconds: those that lie in the intervals for the greater part.
        AND o.second + 0.5 >= v.from_s AND o.second + 0.5 < v.to_s
    GROUP BY ALL
), summed AS (
    SELECT run_id, step_id, source, event, sum(waits)::BIGINT AS waits, sum(wait_s) AS wait_s FROM inside GROUP BY ALL
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status,
    c.compared, c.client_bound, s.source, s.source = 'performance_schema' AS timed,
    CASE WHEN s.event LIKE 'wait/io/file/%' THEN 'file' WHEN s.event LIKE '%/mutex/%' THEN 'mutex'
         WHEN s.event LIKE '%/rwlock/%' OR s.event LIKE '%/sxlock/%' OR s.event ILIKE 'rwlock:%' THEN 'rwlock'
         WHEN s.event ILIKE '%mutex%' THEN 'mutex' ELSE 'lock' END AS kind,
    s.event, d.seconds, d.operations::BIGINT AS operations, s.waits, s.wait_s,
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
