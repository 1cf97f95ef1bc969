-- By how much the counters of the host, of the server's process and of each device that holds the data grew in each
-- selected step: a row per source (host, process, device), name (of the device) and counter, the name of a cumulative
-- column. `grown` took place in `seconds`; `share` is the part of the step that they cover. Both readings of
-- `step_counters` lie at the step's ends; where there are none (runs by an older ibench, a restarted server, an answer
-- that came too late), the sums are over the samples inside the step. They leave out the seconds at its ends: a rate
-- over less than 95 % of the step may be off by more than 5 %, so it is not `known`. Of an imported step nothing is known
-- but the samples that a tool of its own has left: half of the step is enough, and its importer says how much it is.
--
-- A cost divides by what was done in the same seconds, since the clients do less at the ends of a step than between them.
-- `op_seconds` is the time that the step's main operations in `seconds` would have taken at their mean rate over the
-- step; grown / op_seconds / throughput is the cost per operation. `row_seconds` is the same for the rows of `row_rate`.
-- Both are `seconds` where the readings lie at the step's ends, and where nobody knows in which second work was done.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH chosen AS MATERIALIZED (
    SELECT
        row_number() OVER () AS line, run_id, step_id, start_s, end_s, duration_s, main,
        CASE origin WHEN 'imported' THEN 0.5 ELSE 0.95 END AS enough
    FROM steps_of($ids, $names) JOIN (SELECT run_id, origin FROM runs) USING (run_id) WHERE start_s IS NOT NULL
), counted AS MATERIALIZED (
    SELECT
        c.run_id, c.step_id, k.source, k.name, k.counter, k.end_value - k.start_value AS grown,
        k.end_s - k.start_s AS seconds,
        (least(k.end_s, c.end_s) - greatest(k.start_s, c.start_s)) / nullif(greatest(c.duration_s, k.end_s - k.start_s), 0)
            AS share,
        c.enough
    FROM chosen c JOIN step_counters k USING (run_id, step_id)
    WHERE k.source IN ('host', 'process')
       OR k.source = 'device' AND (
           c.enough < 0.95 OR (c.run_id, k.name) IN (SELECT (run_id, device) FROM device_samples WHERE holds_data)
       )
), from_samples AS MATERIALIZED (
    -- Steps of which a source is not counted, or not over all of them.
    SELECT c.*, x.source
    FROM chosen c, (VALUES ('host'), ('process'), ('device')) AS x(source)
    ANTI JOIN (FROM counted WHERE share >= enough) d
        ON d.run_id = c.run_id AND d.step_id = c.step_id AND d.source = x.source
), host_inside AS MATERIALIZED (
    SELECT s.step_id, s.start_s, s.source, '' AS name, h.*
    FROM from_samples s
    JOIN host_seconds_of(from_samples) h ON h.run_id = s.run_id AND h.t_s - h.seconds >= s.start_s AND h.t_s <= s.end_s
    WHERE s.source = 'host'
), process_inside AS MATERIALIZED (
    SELECT s.step_id, s.start_s, s.source, '' AS name, p.*
    FROM from_samples s
    JOIN process_seconds_of(from_samples) p ON p.run_id = s.run_id AND p.t_s - p.seconds >= s.start_s AND p.t_s <= s.end_s
    WHERE s.source = 'process'
), device_inside AS MATERIALIZED (
    SELECT s.step_id, s.start_s, s.source, d.device AS name, d.*
    FROM from_samples s
    JOIN device_seconds_of(from_samples) d ON d.run_id = s.run_id AND d.t_s - d.seconds >= s.start_s AND d.t_s <= s.end_s
    WHERE s.source = 'device' AND d.holds_data
), intervals AS (
    -- Those between the samples, on the clock of the step.
    SELECT run_id, step_id, source, t_s - seconds - start_s AS from_s, t_s - start_s AS to_s
    FROM (
        SELECT run_id, step_id, source, start_s, t_s, seconds FROM host_inside
        UNION ALL SELECT run_id, step_id, source, start_s, t_s, seconds FROM process_inside
        UNION ALL SELECT DISTINCT run_id, step_id, source, start_s, t_s, seconds FROM device_inside
    )
), covered AS MATERIALIZED (
    FROM covered_seconds(intervals)
), covered_of AS (
    -- Each second of a step once, with what is covered of it by source. A number stands for the step: seconds are many.
    SELECT
        c.line, v.second,
        sum(v.covered_s) FILTER (v.source = 'host') AS host,
        sum(v.covered_s) FILTER (v.source = 'process') AS process,
        sum(v.covered_s) FILTER (v.source = 'device') AS device
    FROM covered v JOIN chosen c USING (run_id, step_id) GROUP BY c.line, v.second
), done AS (
    -- What each family did, second by second.
    SELECT
        c.line, x.family, o.second,
        sum(CASE f.counts WHEN 'rows' THEN o."rows" ELSE o.ops END)::DOUBLE AS amount
    FROM (FROM chosen SEMI JOIN covered USING (run_id, step_id)) c
    JOIN ops o USING (run_id, step_id)
    JOIN operations x ON x.run_id = o.run_id AND x.operation = o.operation
    JOIN families f ON f.run_id = x.run_id AND f.family = x.family
    WHERE NOT f.of_existing_rows
    GROUP BY c.line, x.family, o.second
), shares AS (
    SELECT
        d.line, d.family,
        sum(CASE WHEN d.long_s > 0 THEN d.amount * least(coalesce(COLUMNS(v.* EXCLUDE (line, second)), 0) / d.long_s, 1) END)
            / nullif(sum(d.amount), 0)
    FROM (
        -- The last second of a step is a part of one.
        SELECT o.*, least(c.duration_s - o.second, 1) AS long_s FROM done o JOIN chosen c USING (line)
    ) d LEFT JOIN covered_of v USING (line, second)
    GROUP BY d.line, d.family
), family_shares AS (
    SELECT c.run_id, c.step_id, s.source, s.family, s.share
    FROM (FROM shares UNPIVOT INCLUDE NULLS (share FOR source IN (COLUMNS(* EXCLUDE (line, family))))) s
    JOIN chosen c USING (line)
    SEMI JOIN covered v ON v.run_id = c.run_id AND v.step_id = c.step_id AND v.source = s.source
), work_shares AS (
    SELECT
        w.run_id, w.step_id, w.source,
        any_value(nullif(w.share, 0)) FILTER (w.family = c.main) AS of_ops,
        arg_min(nullif(w.share, 0), f.position) FILTER (f.counts = 'rows') AS of_rows
    FROM family_shares w
    JOIN chosen c USING (run_id, step_id)
    JOIN families f ON f.run_id = w.run_id AND f.family = w.family
    GROUP BY w.run_id, w.step_id, w.source
), covered_time AS (
    SELECT run_id, step_id, source, sum(covered_s) AS covered_s FROM covered GROUP BY ALL
), sampled AS (
    FROM grown_in_samples(host_inside)
    UNION ALL BY NAME FROM grown_in_samples(process_inside)
    UNION ALL BY NAME FROM grown_in_samples(device_inside)
), found AS (
    SELECT *, seconds AS op_seconds, seconds AS row_seconds
    FROM counted ANTI JOIN from_samples USING (run_id, step_id, source)
    UNION ALL BY NAME
    SELECT
        s.run_id, s.step_id, s.source, s.name, s.counter, s.use.grown AS grown, s.use.seconds AS seconds,
        s.use.seconds / nullif(c.duration_s, 0) AS share, c.enough,
        -- Of a counter without a value in some of the samples, so much less time counts.
        coalesce(w.of_ops * c.duration_s * s.use.seconds / t.covered_s, s.use.seconds) AS op_seconds,
        coalesce(w.of_rows * c.duration_s * s.use.seconds / t.covered_s, s.use.seconds) AS row_seconds
    FROM sampled s
    JOIN chosen c USING (run_id, step_id)
    LEFT JOIN work_shares w USING (run_id, step_id, source)
    LEFT JOIN covered_time t USING (run_id, step_id, source)
    WHERE s.use.grown IS NOT NULL
)
SELECT * EXCLUDE (enough), share >= enough AS known FROM found
