-- Rates and worst responses at one-second intervals, per run, step and family of operations, for all clients together
-- (client NULL) and for each client. `operation` is the family of operations, `rate_label` what its rate is called.
-- `t_s` counts from the step's start. At most `points` for all clients together, and about as many for the series of
-- the single clients, which share them: longer ones are put into buckets of `bucket_s` seconds, each kept as min, mean
-- and max, so that no stall disappears. The last, partial second of a step has a worst response but no rate.
--
-- $runs: ids of the runs
-- $points: how many points the series of all clients together may have at most
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    FROM selected_steps($runs, $steps)
), numbered AS (
    -- Numbers in place of names: a series has thousands of rows, and they are grouped and sorted.
    SELECT
        run_id, step_id, duration_s, dense_rank() OVER (ORDER BY step_id, setup) AS panel,
        row_number() OVER (ORDER BY step_id, setup, dbms_position, repeat) AS line
    FROM chosen
), answered AS (
    -- One number for a line, operation, second and client, from the left: there are millions of them.
    SELECT
        ((n.line * 64 + f.number) << 40) + (o.second::BIGINT << 16) + o.client AS key,
        CASE f.counts WHEN 'rows' THEN o."rows" ELSE o.ops END AS amount, o.service_max_us
    FROM ops o
    JOIN numbered n USING (run_id, step_id)
    JOIN operations x ON x.run_id = o.run_id AND x.operation = o.operation
    JOIN families f ON f.run_id = x.run_id AND f.family = x.family
    WHERE NOT f.of_existing_rows
), clients AS MATERIALIZED (
    SELECT key, sum(amount)::DOUBLE AS amount, max(service_max_us) AS max_us FROM answered GROUP BY key
), lengths AS (
    SELECT
        key >> 46 AS line, ceil((max((key >> 16) & 16777215) + 1) / $points)::BIGINT AS together_s,
        ceil((max((key >> 16) & 16777215) + 1) * count(DISTINCT key & 65535) / $points)::BIGINT AS single_s
    FROM clients GROUP BY line
), seconds AS (
    FROM clients
    UNION ALL
    SELECT key - (key & 65535) AS series_second, sum(amount), max(max_us) FROM clients GROUP BY series_second
), placed AS (
    SELECT key >> 40 AS series, (key >> 16) & 16777215 AS second, key & 65535 AS client, amount, max_us FROM seconds
), bucketed AS (
    SELECT
        series, client, CASE client WHEN 0 THEN together_s ELSE single_s END AS bucket_s,
        second // bucket_s * bucket_s AS t_s,
        min(amount) FILTER (second + 1 <= duration_s) AS rate_min,
        avg(amount) FILTER (second + 1 <= duration_s) AS rate_mean,
        max(amount) FILTER (second + 1 <= duration_s) AS rate_max,
        seconds_of_us(max(max_us)) AS max_response_s
    FROM placed JOIN lengths l ON l.line = series >> 6 JOIN numbered n ON n.line = l.line
    GROUP BY ALL
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status,
    f.family AS operation, nullif(b.client, 0)::INTEGER AS client, b.bucket_s, b.t_s,
    b.rate_min, b.rate_mean, b.rate_max, b.max_response_s, f.label AS rate_label
FROM bucketed b
JOIN numbered n ON n.line = b.series >> 6
JOIN chosen c USING (run_id, step_id)
JOIN families f ON f.run_id = n.run_id AND f.number = b.series & 63
ORDER BY n.panel, f.position, f.family, b.series, b.client, b.t_s
