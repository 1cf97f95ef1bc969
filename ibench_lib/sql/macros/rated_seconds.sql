-- Every full second of the selected steps with the rate of the step's main operation (`timed_steps`), all clients
-- together. A step without such an operation has no seconds here. `median_rate`: median over the full seconds of the
-- step. `stall` numbers the stalls of a step from 1: consecutive seconds with less than half of the median; NULL in
-- other seconds.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH chosen AS (
    FROM timed_steps($ids, $names)
), rated AS (
    SELECT
        c.run_id, c.step_id, o.second,
        sum(CASE c.counts WHEN 'rows' THEN o."rows" ELSE o.ops END)::DOUBLE AS rate
    FROM ops o
    JOIN chosen c USING (run_id, step_id)
    JOIN operations x ON x.run_id = o.run_id AND x.operation = o.operation
    WHERE o.second < c.full_seconds AND x.family = c.main_operation
    GROUP BY ALL
), judged AS (
    SELECT *, median(rate) OVER (PARTITION BY run_id, step_id) AS median_rate, rate < median_rate / 2 AS stalled
    FROM rated
), placed AS (
    -- Consecutive seconds of a stall have one difference between the second and its place among the stalled ones.
    SELECT *, second - row_number() OVER (PARTITION BY run_id, step_id, stalled ORDER BY second) AS island FROM judged
)
SELECT
    * EXCLUDE (stalled, island),
    CASE WHEN stalled THEN dense_rank() OVER (PARTITION BY run_id, step_id, stalled ORDER BY island) END AS stall
FROM placed
