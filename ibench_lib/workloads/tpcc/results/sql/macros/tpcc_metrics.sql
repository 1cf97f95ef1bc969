-- The metrics of chosen steps that only TPC-C has. A new order counts one row if it was committed, none if it was rolled
-- back as its input intends.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH new_orders AS (
    SELECT s.run_id, s.step_id, 60.0 / nullif(s.duration_s, 0) AS per_minute, sum(o.ops) AS done, sum(o."rows") AS committed
    FROM selected_steps($ids, $names) s
    JOIN ops o ON o.run_id = s.run_id AND o.step_id = s.step_id AND o.operation = 'new_order'
    WHERE s.benchmark = 'tpcc' AND s.kind IN ('ramp_up', 'run')
    GROUP BY ALL
)
SELECT run_id, step_id, 'notpm' AS metric, per_minute * done AS value FROM new_orders
UNION ALL
SELECT run_id, step_id, 'notpm_committed' AS metric, per_minute * committed AS value FROM new_orders
