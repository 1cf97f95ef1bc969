-- Rates and worst responses at one-second intervals, per run, step and family of operations, for all clients together
-- (client NULL) and for each client. `operation` is the family of operations, `rate_label` what its rate is called.
-- `t_s` counts from the step's start. At most `points` for all clients together, and about as many for the series of
-- the single clients, which share them: longer ones are put into buckets of `bucket_s` seconds. Those of all clients
-- are kept as min, mean and max, so that no stall disappears; those of single clients have a mean, and no rate_min and
-- rate_max. The last, partial second of a step has a worst response but no rate.
--
-- Where no second of a step is known, but intervals of another length are (`intervals`), their rates stand here, flat
-- over `bucket_s`. `interval_s` is then the length of the interval, of several in a bucket that of the longest; NULL
-- where seconds are known.
--
-- $runs: ids of the runs
-- $points: how many points the series of all clients together may have at most
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    FROM selected_steps($runs, $steps)
), numbered AS (
    -- Numbers in place of names: a series has thousands of rows, and they are grouped and sorted.
    SELECT
        run_id, step_id, duration_s, clients, dense_rank() OVER (ORDER BY step_id, setup) AS panel,
        row_number() OVER (ORDER BY step_id, setup, dbms_position, repeat) AS line
    FROM chosen
), of_intervals AS (
    SELECT
        n.line * 64 + f.number AS series, i.client, i.bucket_s, i.t_s, i.rate_mean, i.interval_s,
        CASE WHEN i.client IS NULL THEN i.rate_min END AS rate_min,
        CASE WHEN i.client IS NULL THEN i.rate_max END AS rate_max
    FROM interval_rates($runs, $steps, $points) i
    JOIN numbered n USING (run_id, step_id)
    JOIN families f USING (run_id, family)
), sent AS (
    SELECT
        n.run_id, n.step_id, x.operation, x.position, n.line * 64 + f.number AS series, f.counts = 'rows' AS of_rows
    FROM numbered n
    JOIN operations x ON x.run_id = n.run_id
    JOIN families f ON f.run_id = x.run_id AND f.family = x.family
    WHERE NOT f.of_existing_rows
), answered AS (
    SELECT
        s.series, s.position, o.worker, o.client, o.second, CASE WHEN s.of_rows THEN o."rows" ELSE o.ops END AS amount,
        o.service_max_us AS max_us
    FROM ops o JOIN sent s USING (run_id, step_id, operation)
), together AS MATERIALIZED (
    SELECT series, second, sum(amount)::DOUBLE AS amount, max(max_us) AS max_us FROM answered GROUP BY ALL
), clients AS (
    SELECT run_id, step_id, count(DISTINCT client) AS clients FROM workers SEMI JOIN chosen USING (run_id, step_id)
    GROUP BY ALL
), lengths AS (
    SELECT
        t.series, any_value(n.duration_s) AS duration_s, ceil((max(t.second) + 1) / $points)::BIGINT AS together_s,
        ceil((max(t.second) + 1) * any_value(coalesce(c.clients, n.clients, 1)) / $points)::BIGINT AS single_s
    FROM together t JOIN numbered n ON n.line = t.series >> 6 LEFT JOIN clients c USING (run_id, step_id)
    GROUP BY ALL
), sent_singly AS (
    -- A worker has one row for each second and operation, and all workers begin together.
    SELECT
        a.series, a.client, a.worker, a.position, l.single_s AS bucket_s, a.second // l.single_s * l.single_s AS t_s,
        sum(a.amount) FILTER (a.second + 1 <= l.duration_s) AS amount,
        count(*) FILTER (a.second + 1 <= l.duration_s) AS seconds, max(a.max_us) AS max_us
    FROM answered a JOIN lengths l USING (series) GROUP BY ALL
), bucketed AS (
    SELECT
        t.series, NULL::INTEGER AS client, l.together_s AS bucket_s, t.second // l.together_s * l.together_s AS t_s,
        min(t.amount) FILTER (t.second + 1 <= l.duration_s) AS rate_min,
        avg(t.amount) FILTER (t.second + 1 <= l.duration_s) AS rate_mean,
        max(t.amount) FILTER (t.second + 1 <= l.duration_s) AS rate_max,
        seconds_of_us(max(t.max_us)) AS max_response_s
    FROM together t JOIN lengths l USING (series) GROUP BY ALL
    UNION ALL BY NAME
    SELECT
        series, client::INTEGER AS client, bucket_s, t_s, sum(amount)::DOUBLE / nullif(max(seconds), 0) AS rate_mean,
        seconds_of_us(max(max_us)) AS max_response_s
    FROM sent_singly GROUP BY ALL
    UNION ALL BY NAME
    FROM of_intervals
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status,
    f.family AS operation, b.client, b.bucket_s, b.t_s,
    b.rate_min, b.rate_mean, b.rate_max, b.max_response_s, f.label AS rate_label, b.interval_s
FROM bucketed b
JOIN numbered n ON n.line = b.series >> 6
JOIN chosen c USING (run_id, step_id)
JOIN families f ON f.run_id = n.run_id AND f.number = b.series & 63
ORDER BY n.panel, f.position, f.family, b.series, b.client NULLS FIRST, b.t_s
