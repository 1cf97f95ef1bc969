-- New orders per minute over the time of each selected step of TPC-C, in buckets of `bucket_s` seconds: 10, or more
-- where a step has more than `points` of them, or 1 in steps under two minutes. Intended rollbacks are included. `t_s`
-- is the start of a bucket, from the step's start. The last bucket is left out where it is not whole.
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
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status, c.bucket_s,
    p.t_s, 60.0 * p.done / c.bucket_s AS notpm
FROM chosen c JOIN placed p USING (run_id, step_id)
ORDER BY c.step_id, c.setup, c.dbms_position, c.repeat, p.t_s
