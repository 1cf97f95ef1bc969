-- Transactions a second, new orders per minute with and without the intended rollbacks, and the repeats after errors
-- of each selected step of TPC-C. Rates are per second or minute of T, from the common start to the last terminal's end.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH done AS (
    SELECT
        o.run_id, o.step_id, sum(o.ops) AS transactions, sum(o.ops) FILTER (o.operation = 'new_order') AS new_orders,
        sum(o."rows") FILTER (o.operation = 'new_order') AS committed, sum(o.retries) AS repeats
    FROM ops o GROUP BY ALL
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status, c.client_bound,
    c.duration_s, d.transactions / nullif(c.duration_s, 0) AS tps, 60 * d.new_orders / nullif(c.duration_s, 0) AS notpm,
    60 * d.committed / nullif(c.duration_s, 0) AS notpm_committed, 1000.0 * d.repeats / nullif(d.transactions, 0) AS repeats_per_1000
FROM selected_steps($runs, $steps) c JOIN done d USING (run_id, step_id)
WHERE c.benchmark = 'tpcc' AND c.kind IN ('ramp_up', 'run')
ORDER BY c.step_id, c.setup, c.dbms_position, c.repeat
