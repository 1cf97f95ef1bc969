-- Transactions a second, new orders per minute with and without the intended rollbacks, and the repeats after errors
-- of each selected step of TPC-C. Rates are per second or minute of T, from the common start to the last terminal's end.
-- `bytes_per_new_order`: by how much the files of the database grew from the end of the step before to the end of this
-- one, for each committed new order. A file grows by up to 4 MiB at a time, so it is NULL in steps with fewer than 10,000
-- new orders for each set of tables; and where the size at either end was not captured. A published run has its NOTPM,
-- or those that were committed, as published, and nothing else.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH done AS (
    SELECT
        o.run_id, o.step_id, sum(o.ops) AS transactions, sum(o.ops) FILTER (o.operation = 'new_order') AS new_orders,
        sum(o."rows") FILTER (o.operation = 'new_order') AS committed, sum(o.retries) AS repeats
    FROM ops o GROUP BY ALL
), sized AS (
    SELECT run_id, step_id, any_value(bytes) AS bytes FROM sizes WHERE what = 'database' AND name = '' GROUP BY ALL
), grown AS (
    SELECT e.run_id, e.step_id, e.bytes - b.bytes AS bytes
    FROM sized e JOIN sized b ON b.run_id = e.run_id AND b.step_id = e.step_id - 1
), listed AS (
    SELECT
        run_id, step_id, max(value) FILTER (metric = 'notpm') AS notpm,
        max(value) FILTER (metric = 'notpm_committed') AS notpm_committed
    FROM published WHERE metric IN ('notpm', 'notpm_committed') GROUP BY ALL
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status, c.client_bound,
    c.duration_s, d.transactions / nullif(c.duration_s, 0) AS tps,
    coalesce(60 * d.new_orders / nullif(c.duration_s, 0), p.notpm) AS notpm,
    coalesce(60 * d.committed / nullif(c.duration_s, 0), p.notpm_committed) AS notpm_committed,
    1000.0 * d.repeats / nullif(d.transactions, 0) AS repeats_per_1000,
    CASE
        WHEN d.committed >= 10000 * coalesce(try_cast(r.workload::JSON->>'$.setup.sets' AS BIGINT), 1)
        THEN g.bytes / d.committed
    END AS bytes_per_new_order
FROM selected_steps($runs, $steps) c
LEFT JOIN done d USING (run_id, step_id)
LEFT JOIN listed p USING (run_id, step_id)
JOIN runs r USING (run_id)
LEFT JOIN grown g USING (run_id, step_id)
WHERE c.benchmark = 'tpcc' AND c.kind IN ('ramp_up', 'run') AND d.transactions IS NOT NULL OR p.run_id IS NOT NULL
ORDER BY c.step_id, c.setup, c.dbms_position, c.repeat
