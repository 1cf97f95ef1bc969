-- The types of transactions of each selected step of TPC-C: how many, their share in %, and how often one was repeated
-- after a deadlock, a lock wait timeout, or a row that had changed since its read view. `intended_rollbacks`: new orders
-- that were rolled back as their input intends. Percentiles are those of service times, sent to answered, over all
-- repeats of a transaction; NULL where fewer responses were answered than a percentile needs (p99: 100). Those of paced
-- terminals are also known from when a transaction was due (intended_p90_s, intended_p99_s), else NULL. least_share:
-- the share that the specification demands, in %; limit_s: its limit for p90. unsent_share: of the transactions of all
-- types that were due, the part that was never sent. It is in no percentile, so the intended ones are then lower
-- bounds.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH timed AS MATERIALIZED (
    FROM questions.response_time_histogram($runs, $steps)
), counted AS (
    SELECT
        o.run_id, o.step_id, o.operation, sum(o.ops)::BIGINT AS done, sum(o."rows")::BIGINT AS counted_rows,
        sum(o.deadlocks)::BIGINT AS deadlocks, sum(o.lock_timeouts)::BIGINT AS lock_timeouts, sum(o.changed)::BIGINT AS changed,
        sum(o.errors)::BIGINT AS errors
    FROM ops o JOIN selected_steps($runs, $steps) s USING (run_id, step_id)
    WHERE s.benchmark = 'tpcc' AND s.kind IN ('ramp_up', 'run')
    GROUP BY ALL
), rules(operation, least_share, limit_s) AS (
    VALUES ('new_order', NULL, 5), ('payment', 43, 5), ('order_status', 4, 5), ('delivery', 4, 5), ('stock_level', 4, 20)
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status, c.client_bound,
    n.operation, n.done, 100.0 * n.done / nullif(sum(n.done) OVER (PARTITION BY n.run_id, n.step_id), 0) AS share,
    CASE n.operation WHEN 'new_order' THEN n.done - n.counted_rows END AS intended_rollbacks,
    n.deadlocks, n.lock_timeouts, n.changed, n.errors,
    h.p50_s, CASE WHEN n.done >= 10 THEN h.p90_s END AS p90_s, CASE WHEN n.done >= 100 THEN h.p99_s END AS p99_s,
    CASE WHEN n.done >= 1000 THEN h.p999_s END AS p999_s, h.max_s, CASE WHEN n.done >= 10 THEN i.p90_s END AS intended_p90_s,
    CASE WHEN n.done >= 100 THEN i.p99_s END AS intended_p99_s, r.least_share, r.limit_s,
    max(i.unsent_share) OVER (PARTITION BY n.run_id, n.step_id) AS unsent_share
FROM counted n
JOIN selected_steps($runs, $steps) c USING (run_id, step_id)
LEFT JOIN rules r USING (operation)
LEFT JOIN operations x ON x.run_id = n.run_id AND x.operation = n.operation
LEFT JOIN (FROM timed WHERE timing = 'service') h
    ON h.run_id = n.run_id AND h.step_id = n.step_id AND h.operation = n.operation
LEFT JOIN (FROM timed WHERE timing = 'intended') i
    ON i.run_id = n.run_id AND i.step_id = n.step_id AND i.operation = n.operation
ORDER BY c.step_id, c.setup, x.position, c.dbms_position, c.repeat
