-- Response times over the time of each step, per operation, all clients together: p50, p99, p99.9 and the largest of
-- the responses that ended in a second, or, where a step has more than `points` of them, in a bucket of `bucket_s`
-- seconds. timing: service (sent to answered) or intended (due to answered; only rate-limited operations). `t_s` is the
-- middle of the second or bucket, counted from the step's start; NULL: nothing was answered in it, or,
-- where `responses` is NULL, no histogram was recorded. Percentiles come
-- from log-linear bins with an error under 1 %, and are of all responses together, not means; the largest is exact, so
-- that no stall disappears.
--
-- $runs: ids of the runs
-- $points: how many points a series may have at most
-- $steps: names of the steps to show; an empty list means all
WITH found AS (
    SELECT
        any_value(run_id) AS run_id, any_value(step_id) AS step_id, any_value(bucket_s) AS bucket_s,
        any_value(operation) AS operation, any_value(operation_position) AS operation_position,
        any_value(timing) AS timing, any_value(bucket) AS bucket,
        CASE WHEN NOT any_value(unrecorded) THEN coalesce(any_value(total), 0) END AS responses,
        seconds_of_us(least(bin_mid_us(min(bin) FILTER (100 * up_to >= 50 * total)), any_value(max_us))) AS p50_s,
        seconds_of_us(least(bin_mid_us(min(bin) FILTER (100 * up_to >= 99 * total)), any_value(max_us))) AS p99_s,
        seconds_of_us(least(bin_mid_us(min(bin) FILTER (1000 * up_to >= 999 * total)), any_value(max_us))) AS p999_s,
        seconds_of_us(any_value(max_us)) AS max_s
    FROM bucket_bins($runs, $steps, $points, false) GROUP BY span
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status, f.bucket_s,
    f.operation, f.timing, (f.bucket + 0.5::DOUBLE) * f.bucket_s AS t_s,
    f.responses, f.p50_s, f.p99_s, f.p999_s, f.max_s
FROM found f JOIN selected_steps($runs, $steps) c USING (run_id, step_id)
ORDER BY c.step_id, c.setup, f.operation_position, f.timing DESC,
         c.dbms_position, c.repeat, t_s
