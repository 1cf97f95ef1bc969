-- How the operations of each selected step of LinkBench ended, over all requesters: the number of operations of each
-- outcome, and its share of the operation in %. For lists, outcomes are their sizes by powers of two.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH done AS (
    SELECT run_id, step_id, operation, outcome, sum(ops) AS done FROM outcomes GROUP BY ALL
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status,
    c.client_bound, d.operation, d.outcome, d.done::BIGINT AS done,
    100.0 * d.done / nullif(sum(d.done) OVER (PARTITION BY d.run_id, d.step_id, d.operation), 0) AS share
FROM done d
JOIN selected_steps($runs, $steps) c USING (run_id, step_id)
LEFT JOIN operations x ON x.run_id = d.run_id AND x.operation = d.operation
WHERE c.benchmark = 'linkbench' AND c.kind IN ('warm_up', 'requests', 'control')
ORDER BY
    min_by(c.step_id, c.repeat) OVER (PARTITION BY c.setup, c.step), c.setup, c.dbms_position, c.repeat, x.position,
    try_cast(split_part(d.outcome, '-', 1) AS INTEGER), d.outcome
