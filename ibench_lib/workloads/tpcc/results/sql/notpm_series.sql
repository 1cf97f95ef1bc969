-- New orders per minute over the time of each selected step of TPC-C, in buckets of `bucket_s` seconds: 10, or more
-- where a step has more than `points` of them, or 1 in steps under two minutes. Intended rollbacks are included. `t_s`
-- is the start of a bucket, from the step's start. The last bucket is left out where it is not whole. Where no second of
-- a step is known, but intervals of another length are (`intervals`), a bucket is one of them, or as many as make
-- `points` buckets, and `interval_s` is the length of the longest; NULL where seconds are known.
--
-- $runs: ids of the runs
-- $points: how many points a series may have at most
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    SELECT
        *, greatest(CASE WHEN full_seconds < 120 THEN 1 ELSE 10 END, ceil(full_seconds / $points))::BIGINT AS bucket_s
    FROM timed_steps($runs, $steps) WHERE benchmark = 'tpcc' AND kind IN ('ramp_up', 'run')
), placed AS (
    SELECT c.run_id, c.step_id, o.second // c.bucket_s * c.bucket_s AS t_s, sum(o.ops) AS done
    FROM chosen c JOIN ops o USING (run_id, step_id)
    WHERE o.operation = 'new_order' AND (o.second // c.bucket_s + 1) * c.bucket_s <= c.full_seconds
    GROUP BY ALL
), ordered AS (
    SELECT
        run_id, step_id, end_s, seconds, ops_per_s,
        row_number() OVER (PARTITION BY run_id, step_id ORDER BY end_s) - 1 AS place,
        ceil(count(*) OVER (PARTITION BY run_id, step_id) / $points)::BIGINT AS together
    FROM intervals SEMI JOIN chosen USING (run_id, step_id) ANTI JOIN response_times USING (run_id, step_id)
    WHERE operation = 'new_order' AND client = 0
), rated AS (
    SELECT
        run_id, step_id, bucket_s::DOUBLE AS bucket_s, t_s::DOUBLE AS t_s, 60.0 * done / bucket_s AS notpm,
        NULL::DOUBLE AS interval_s
    FROM chosen JOIN placed USING (run_id, step_id)
    UNION ALL
    SELECT
        run_id, step_id, round(max(end_s) - min(end_s - seconds), 3), round(min(end_s - seconds), 3),
        60 * sum(ops_per_s * seconds) / sum(seconds), max(seconds)
    FROM ordered GROUP BY run_id, step_id, place // together
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status, r.bucket_s,
    r.t_s, r.notpm, r.interval_s
FROM chosen c JOIN rated r USING (run_id, step_id)
ORDER BY c.step_id, c.setup, c.dbms_position, c.repeat, r.t_s
