-- Every full second of chosen steps with the rate of the step's main operation, all clients together: queries/s in
-- query steps, else rows inserted/s. An index step has no rows. `clients_seen`: clients that were at work in the
-- second. `median_rate`: of the full seconds of the step. `stall` numbers the stalls of a step from 1: consecutive
-- seconds with less than half of the median; NULL in other seconds.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH chosen AS (
    FROM timed_steps($ids, $names)
), rated AS (
    SELECT
        c.run_id, c.step_id, o.second,
        sum(CASE c.main_operation WHEN 'query' THEN o.ops ELSE o."rows" END)::DOUBLE AS rate,
        count(DISTINCT o.client) AS clients_seen
    FROM ops o JOIN chosen c USING (run_id, step_id)
    WHERE o.second < c.full_seconds AND c.main_operation
        = CASE WHEN o.operation IN ('range_query', 'point_query') THEN 'query' ELSE o.operation END
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
