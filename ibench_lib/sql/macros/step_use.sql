-- By how much the counters of the host, of the server's process and of each device that holds the data grew in each
-- selected step: a row per source (host, process, device), name (of the device) and counter, the name of a cumulative
-- column. `grown` took place in `seconds`; `share` is the part of the step that they cover. Both readings of
-- `step_counters` lie at the step's ends; where there are none (runs by an older ibench, a restarted server, an answer
-- that came too late), the sums are over the samples inside the step. They leave out the seconds at its ends: a rate
-- over less than 95 % of the step may be off by more than 5 %, so it is not `known`.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH chosen AS MATERIALIZED (
    SELECT run_id, step_id, start_s, end_s, duration_s FROM steps_of($ids, $names) WHERE start_s IS NOT NULL
), counted AS MATERIALIZED (
    SELECT
        c.run_id, c.step_id, k.source, k.name, k.counter, k.end_value - k.start_value AS grown,
        k.end_s - k.start_s AS seconds,
        (least(k.end_s, c.end_s) - greatest(k.start_s, c.start_s)) / nullif(greatest(c.duration_s, k.end_s - k.start_s), 0)
            AS share
    FROM chosen c JOIN step_counters k USING (run_id, step_id)
    WHERE k.source IN ('host', 'process')
       OR k.source = 'device' AND (c.run_id, k.name) IN (SELECT (run_id, device) FROM device_samples WHERE holds_data)
), from_samples AS MATERIALIZED (
    -- Steps of which a source is not counted, or not over all of them.
    SELECT c.*, x.source
    FROM chosen c, (VALUES ('host'), ('process'), ('device')) AS x(source)
    ANTI JOIN (FROM counted WHERE share >= 0.95) d
        ON d.run_id = c.run_id AND d.step_id = c.step_id AND d.source = x.source
), host AS (
    -- A rate times its seconds is a difference; where one is NULL, its seconds do not count either.
    SELECT
        s.run_id, s.step_id, 'host' AS source, '' AS name,
        {grown: sum(COLUMNS('^(.*)_per_s$') * h.seconds),
         seconds: sum(CASE WHEN COLUMNS('^(.*)_per_s$') IS NOT NULL THEN h.seconds END)} AS '\1'
    FROM from_samples s
    JOIN host_seconds h ON h.run_id = s.run_id AND h.t_s - h.seconds >= s.start_s AND h.t_s <= s.end_s
    WHERE s.source = 'host'
    GROUP BY s.run_id, s.step_id
), process AS (
    SELECT
        s.run_id, s.step_id, 'process' AS source, '' AS name,
        {grown: sum(COLUMNS('^(.*)_per_s$') * p.seconds),
         seconds: sum(CASE WHEN COLUMNS('^(.*)_per_s$') IS NOT NULL THEN p.seconds END)} AS '\1'
    FROM from_samples s
    JOIN process_seconds p ON p.run_id = s.run_id AND p.t_s - p.seconds >= s.start_s AND p.t_s <= s.end_s
    WHERE s.source = 'process'
    GROUP BY s.run_id, s.step_id
), device AS (
    SELECT
        s.run_id, s.step_id, 'device' AS source, d.device AS name,
        {grown: sum(COLUMNS('^(.*)_per_s$') * d.seconds),
         seconds: sum(CASE WHEN COLUMNS('^(.*)_per_s$') IS NOT NULL THEN d.seconds END)} AS '\1'
    FROM from_samples s
    JOIN device_seconds d ON d.run_id = s.run_id AND d.t_s - d.seconds >= s.start_s AND d.t_s <= s.end_s
    WHERE s.source = 'device' AND d.holds_data
    GROUP BY s.run_id, s.step_id, d.device
), sampled AS (
    FROM host UNPIVOT (use FOR counter IN (COLUMNS(* EXCLUDE (run_id, step_id, source, name))))
    UNION ALL BY NAME
    FROM process UNPIVOT (use FOR counter IN (COLUMNS(* EXCLUDE (run_id, step_id, source, name))))
    UNION ALL BY NAME
    FROM device UNPIVOT (use FOR counter IN (COLUMNS(* EXCLUDE (run_id, step_id, source, name))))
), found AS (
    SELECT * FROM counted ANTI JOIN from_samples USING (run_id, step_id, source)
    UNION ALL BY NAME
    SELECT
        s.run_id, s.step_id, s.source, s.name, s.counter, s.use.grown AS grown, s.use.seconds AS seconds,
        s.use.seconds / nullif(c.duration_s, 0) AS share
    FROM sampled s JOIN chosen c USING (run_id, step_id)
    WHERE s.use.grown IS NOT NULL
)
SELECT *, share >= 0.95 AS known FROM found
