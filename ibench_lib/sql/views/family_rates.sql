-- The rate of each family of operations of each step, as acknowledged by the server: `amount` rows or operations
-- (`families`), divided by T, the time from the common start of all clients to the last client's end. If a
-- family works on existing rows, these rows are the amount. Rates of published runs are as published, without an
-- amount.
WITH sent AS (
    FROM worker_families
), done AS (
    -- The totals of a worker are those of its family, unless it has several.
    SELECT w.run_id, w.step_id, s.family, w.ops, w."rows"
    FROM workers w JOIN sent s USING (run_id, step_id, worker) WHERE s.alone
    UNION ALL
    SELECT s.run_id, s.step_id, s.family, e.ops, e."rows"
    FROM sent s
    JOIN operations o ON o.run_id = s.run_id AND o.family = s.family
    JOIN ops e
        ON e.run_id = s.run_id AND e.step_id = s.step_id AND e.worker = s.worker AND e.operation = o.operation
    WHERE NOT s.alone
), amounts AS (
    SELECT d.run_id, d.step_id, d.family, sum(CASE f.counts WHEN 'rows' THEN d."rows" ELSE d.ops END) AS amount
    FROM done d JOIN families f USING (run_id, family) WHERE NOT f.of_existing_rows
    GROUP BY ALL
    UNION ALL
    SELECT s.run_id, s.step_id, k.main, s.existing_rows
    FROM steps s JOIN kinds k USING (run_id, kind) WHERE k.of_existing_rows
), named AS (
    -- A published figure may be the rate of one family in steps of one kind, of another one in others.
    SELECT
        p.run_id, p.step_id, p.value,
        arg_min(r.family, (r.family IS DISTINCT FROM k.main, r.position)) AS family
    FROM published p
    JOIN rate_metrics r USING (metric)
    LEFT JOIN planned_steps s USING (run_id, step_id)
    LEFT JOIN kinds k ON k.run_id = s.run_id AND k.kind = s.kind
    GROUP BY p.run_id, p.step_id, p.metric, p.value
), figures AS (
    SELECT run_id, step_id, value, family FROM named
    UNION ALL
    -- Throughput is that of the step's main family, where no figure with a name of its own is.
    SELECT p.run_id, p.step_id, p.value, k.main
    FROM published p
    JOIN planned_steps s USING (run_id, step_id)
    JOIN kinds k ON k.run_id = s.run_id AND k.kind = s.kind
    WHERE p.metric = 'throughput'
        AND NOT EXISTS (FROM named n WHERE (n.run_id, n.step_id, n.family) = (p.run_id, p.step_id, k.main))
)
SELECT a.run_id, a.step_id, a.family, a.amount, a.amount / nullif(s.duration_s, 0) AS rate
FROM amounts a JOIN steps s USING (run_id, step_id)
UNION ALL
SELECT run_id, step_id, family, NULL, value FROM figures
