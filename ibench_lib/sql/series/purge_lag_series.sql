-- InnoDB history list length over the time of each step, from the samples of every second. `t_s` counts from the
-- step's start. At most `points` a run and step: more are put into buckets of `bucket_samples`, each kept as min,
-- mean and max. `missing` counts samples that the server did not answer. Runs on servers that have no such list are not
-- there.
--
-- $runs: ids of the runs
-- $points: how many points a series may have at most
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    FROM selected_steps($runs, $steps) ANTI JOIN runs_without_history_list USING (run_id)
), sampled AS (
    SELECT
        s.run_id, s.step_id, x.t_s - s.start_s AS t_s, x.history_list_length AS hll,
        row_number() OVER (PARTITION BY s.run_id, s.step_id ORDER BY x.t_s) - 1 AS position,
        count(*) OVER (PARTITION BY s.run_id, s.step_id) AS samples
    FROM chosen s
    JOIN server_samples x ON x.run_id = s.run_id AND x.t_s >= s.start_s AND x.t_s <= s.end_s
), bucketed AS (
    SELECT
        run_id, step_id, ceil(samples / $points)::BIGINT AS bucket_samples, position // bucket_samples AS bucket,
        min(t_s) AS t_s, min(hll) AS hll_min, avg(hll) AS hll_mean, max(hll) AS hll_max,
        count(*) - count(hll) AS missing
    FROM sampled GROUP BY ALL
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status,
    b.* EXCLUDE (run_id, step_id)
FROM bucketed b JOIN chosen c USING (run_id, step_id)
ORDER BY step_id, setup, dbms_position, repeat, bucket
