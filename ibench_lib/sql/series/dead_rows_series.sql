-- Dead rows of all tables over the time of each step, from the samples of every second: rows that were deleted or replaced
-- and that no vacuum has removed, as the server estimates them. `t_s` counts from the step's start. At most `points` a run
-- and step: more are put into buckets of `bucket_samples`, each kept as min, mean and max. Only of servers that count them
-- (PostgreSQL).
--
-- $runs: ids of the runs
-- $points: how many points a series may have at most
-- $steps: names of the steps to show; an empty list means all
WITH counted AS (
    SELECT run_id, t_s, value FROM counter_seconds WHERE name = 'tables.dead_rows' AND list_contains($runs, run_id)
), answered AS (
    -- A value that has not changed has no row.
    SELECT x.run_id, x.t_s, c.value
    FROM (FROM server_samples WHERE list_contains($runs, run_id) AND uptime_s IS NOT NULL) x
    ASOF JOIN counted c ON x.run_id = c.run_id AND x.t_s >= c.t_s
), placed AS (
    SELECT
        s.* , x.t_s - s.start_s AS t_s, x.value, row_number() OVER (of_step ORDER BY x.t_s) - 1 AS place,
        ceil(count(*) OVER of_step / $points)::BIGINT AS bucket_samples
    FROM selected_steps($runs, $steps) s JOIN answered x ON x.run_id = s.run_id AND x.t_s BETWEEN s.start_s AND s.end_s
    WINDOW of_step AS (PARTITION BY s.run_id, s.step_id)
)
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, step_status, bucket_samples,
    place // bucket_samples AS bucket, min(t_s) AS t_s, min(value) AS dead_min, avg(value) AS dead_mean,
    max(value) AS dead_max
FROM placed GROUP BY ALL ORDER BY step_id, setup, dbms_position, repeat, bucket
