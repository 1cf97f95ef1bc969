-- How the response times of each step's main operation (sent to answered) spread, over the time
-- of the step: `share` is the part, in per cent, of the responses that ended around `t_s` and took from
-- `from_s` to twice that. The edges, powers of two of a millisecond, are exact. `t_s` and `bucket_s` are as in
-- response_percentiles_over_time. Only shares above 0 have a row.
--
-- $runs: ids of the runs
-- $points: how many columns there may be at most
-- $steps: names of the steps to show; an empty list means all
WITH counted AS (
    -- 1 ms is the lower edge of bin 9 * 64 + 61; 64 bins further it has doubled.
    SELECT run_id, step_id, operation, bucket_s, bucket, floor((bin - 61) / 64) - 9 AS power, sum(n) AS n
    FROM bucket_bins($runs, $steps, $points, true) WHERE bin IS NOT NULL GROUP BY ALL
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status, n.bucket_s,
    n.operation, (n.bucket + 0.5::DOUBLE) * n.bucket_s AS t_s, pow(2, n.power) / 1e3 AS from_s,
    100 * n.n / sum(n.n) OVER (PARTITION BY n.run_id, n.step_id, n.bucket) AS share
FROM counted n JOIN selected_steps($runs, $steps) c USING (run_id, step_id)
ORDER BY c.step_id, c.setup, c.dbms_position, c.repeat, t_s, from_s
