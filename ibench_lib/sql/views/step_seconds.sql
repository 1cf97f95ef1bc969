-- One row per second, operation and client of each step, and one with client NULL for all clients together.
-- `rate` is rows/s for insert and delete, operations/s for queries; NULL in the last, partial second of a step, which
-- has no rate. `max_response_s` is the worst response that ended in the second; NULL when nothing ended.
WITH summed AS (
    SELECT
        run_id, step_id, client, second,
        CASE WHEN operation IN ('range_query', 'point_query') THEN 'query' ELSE operation END AS operation,
        sum(CASE WHEN operation IN ('insert', 'delete') THEN "rows" ELSE ops END) AS amount,
        max(service_max_us) / 1e6 AS max_response_s
    FROM ops
    GROUP BY GROUPING SETS (
        (run_id, step_id, operation, second, client), (run_id, step_id, operation, second)
    )
)
SELECT
    w.run_id, w.step_id, w.operation, w.client, w.second,
    CASE WHEN w.second + 1 <= s.duration_s THEN w.amount::DOUBLE END AS rate,
    w.max_response_s
FROM summed w JOIN steps s USING (run_id, step_id)
