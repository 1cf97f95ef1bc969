-- How even the rate of each selected step was in the seconds_at_work: its full seconds in which no client had ended yet
-- (`rated_seconds`). rate_p50, rate_p99: the rate that was met or beaten in 50 %, 99 % of them. stalled_seconds: those
-- of a stall, with less than half of the median rate.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH ranked AS (
    SELECT
        *, row_number() OVER (PARTITION BY run_id, step_id ORDER BY rate DESC) AS place,
        count(*) OVER (PARTITION BY run_id, step_id) AS n
    FROM rated_seconds($ids, $names) WHERE all_at_work
)
SELECT
    run_id, step_id, any_value(n) AS seconds_at_work,
    min(rate) FILTER (place <= (50 * n + 99) // 100) AS rate_p50,
    min(rate) FILTER (place <= (99 * n + 99) // 100) AS rate_p99,
    count(*) FILTER (stall IS NOT NULL) AS stalled_seconds
FROM ranked
GROUP BY run_id, step_id
