-- What was sampled over the time of chosen steps (`sampled`), a row per series and moment. `t_s` counts from the step's
-- start. For a value read at one moment it is that moment; for a rate, the middle of its interval. In a step of more
-- than `at_most` seconds it is the middle of a bucket of `bucket_s` seconds, which keeps the smallest value, the mean
-- and the largest value.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
-- $at_most: how many points a series may have
WITH chosen AS (
    SELECT *, ceil((duration_s + 2) / $at_most)::BIGINT AS bucket_s FROM selected_steps($ids, $names)
), placed AS (
    SELECT *, t_s - coalesce(seconds, 0) / 2 AS at_s FROM sampled($ids, $names) WHERE t_s IS NOT NULL
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status, c.bucket_s,
    p.source, p.series,
    CASE c.bucket_s WHEN 1 THEN p.at_s ELSE (floor(p.at_s / c.bucket_s) + 0.5::DOUBLE) * c.bucket_s END AS t_s,
    min(p.value) AS low, avg(p.value) AS middle, max(p.value) AS high
FROM placed p JOIN chosen c USING (run_id, step_id)
GROUP BY ALL
