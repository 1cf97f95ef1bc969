-- What the clients saw over the time of each step, all of them together, a row per series and moment: the rate of each
-- family of operations, such as inserts_per_s (`step_families` lists them); <family>_max_s, the worst response that
-- ended in a second; clients_cpu, CPUs that the client processes kept busy. `t_s` counts from the step's start and is
-- the middle of what the row covers: of a second, or where a step has more than `points` of them of a bucket of
-- `bucket_s` seconds, which keeps the least, the mean and the greatest. A rate is known of full seconds only. NULL: in
-- that second nothing was answered. A series that a step does not have is left out. Where no second of a step is known,
-- but intervals of another length are (`intervals`), a row of a rate covers one of them, or several (`interval_rates`), and
-- `interval_s` is the length of the longest; NULL where seconds are known.
--
-- $runs: ids of the runs
-- $points: how many points a series may have at most
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    SELECT *, ceil((duration_s + 2) / $points)::BIGINT AS bucket_s FROM timed_steps($runs, $steps)
), answered AS (
    SELECT
        c.run_id, c.step_id, c.bucket_s, o.second, o.second < c.full_seconds AS whole,
        CASE WHEN NOT f.of_existing_rows THEN f.family END AS family, rate_series(f.label) AS rate_series,
        CASE f.counts WHEN 'rows' THEN o."rows" ELSE o.ops END AS amount, o.service_max_us,
        o.cpu_user_s + o.cpu_system_s AS cpu_s
    FROM ops o
    JOIN chosen c USING (run_id, step_id)
    LEFT JOIN operations x ON x.run_id = o.run_id AND x.operation = o.operation
    LEFT JOIN families f ON f.run_id = x.run_id AND f.family = x.family
), seconds AS (
    SELECT run_id, step_id, bucket_s, second, count(*) = count(cpu_s) AND bool_and(whole) AS known, sum(cpu_s) AS cpu_s
    FROM answered GROUP BY ALL
), of_families AS (
    -- A second without an answer of a family has a row of it, too: NULL is a gap in a line.
    SELECT
        s.run_id, s.step_id, s.bucket_s, s.second, f.family, f.rate_series,
        sum(a.amount) FILTER (a.whole)::DOUBLE AS rate, seconds_of_us(max(a.service_max_us)) AS max_s
    FROM seconds s
    JOIN (SELECT DISTINCT run_id, step_id, family, rate_series FROM answered WHERE family IS NOT NULL) f
        USING (run_id, step_id)
    LEFT JOIN answered a USING (run_id, step_id, second, family)
    GROUP BY s.run_id, s.step_id, s.bucket_s, s.second, f.family, f.rate_series
), long AS (
    FROM (
        SELECT run_id, step_id, bucket_s, second, rate_series AS series, rate AS value FROM of_families
        UNION ALL
        SELECT run_id, step_id, bucket_s, second, family || '_max_s', max_s FROM of_families
        UNION ALL
        SELECT run_id, step_id, bucket_s, second, 'clients_cpu', CASE WHEN known THEN cpu_s END FROM seconds
    )
    QUALIFY count(value) OVER (PARTITION BY run_id, step_id, series) > 0
), together AS (
    SELECT
        run_id, step_id, series, bucket_s::DOUBLE AS bucket_s, (second // bucket_s + 0.5::DOUBLE) * bucket_s AS t_s,
        min(value) AS low, avg(value) AS middle, max(value) AS high, NULL::DOUBLE AS interval_s
    FROM long GROUP BY ALL
    UNION ALL
    SELECT
        i.run_id, i.step_id, rate_series(f.label), i.bucket_s, i.t_s + i.bucket_s / 2, i.rate_min, i.rate_mean, i.rate_max,
        i.interval_s
    FROM interval_rates($runs, $steps, $points) i JOIN families f USING (run_id, family) WHERE i.client IS NULL
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status, t.bucket_s,
    'clients' AS source, t.series, t.t_s, t.low, t.middle, t.high, t.interval_s
FROM together t JOIN chosen c USING (run_id, step_id)
ORDER BY c.step_id, c.setup, c.dbms_position, c.repeat, t.series, t.t_s
