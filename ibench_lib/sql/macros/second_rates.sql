-- How even the rate of each selected step was over its full seconds (`full_seconds`). rate_p50, rate_p99: the rate that
-- was met or beaten in 50 %, 99 % of them. stalled_seconds: those of a stall, with less than half of the median rate,
-- of the seconds_at_work in which no client was done yet.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH ranked AS (
    SELECT
        *, row_number() OVER (PARTITION BY run_id, step_id ORDER BY rate DESC) AS place,
        count(*) OVER (PARTITION BY run_id, step_id) AS n
    FROM full_seconds($ids, $names)
)
SELECT
    run_id, step_id, any_value(n) AS full_seconds,
    min(rate) FILTER (place <= (50 * n + 99) // 100) AS rate_p50,
    min(rate) FILTER (place <= (99 * n + 99) // 100) AS rate_p99,
    count(*) FILTER (all_at_work) AS seconds_at_work,
    count(*) FILTER (all_at_work AND stall IS NOT NULL) AS stalled_seconds
FROM ranked
GROUP BY run_id, step_id
