-- The work planned for each step of the selected runs, one row per setup and plan. rows: what each client inserts;
-- seconds: how long a query step lasts; rate: rows/s that each client inserts, and deletes, where it is limited.
-- families: those of the runs' servers, as far as they are known.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH plans AS (
    SELECT
        setup, flavour, workload::JSON AS w,
        unnest(from_json(workload::JSON->'$.resolved_steps', '[{
            "name": "VARCHAR", "form": "VARCHAR", "kind": "VARCHAR", "rows_per_commit": "BIGINT", "rows": "BIGINT",
            "seconds": "DOUBLE", "rate": "DOUBLE", "deletes": "BOOLEAN", "query": "VARCHAR",
            "settle_before": "BOOLEAN", "settle_s": "DOUBLE", "long_transaction": "BOOLEAN"
        }]')) AS s,
        generate_subscripts(from_json(workload::JSON->'$.resolved_steps', '["JSON"]'), 1) - 1 AS step_id
    FROM selected_runs($runs) WHERE benchmark = 'insert_benchmark'
)
SELECT
    setup, step_id, s.name AS step, s.kind, s.rows_per_commit, s."rows", s.seconds, s.rate, s.deletes, s.query,
    s.settle_before, s.settle_s, s.long_transaction,
    try_cast(w->>'$.clients' AS BIGINT) AS clients, try_cast(w->>'$.query_rows' AS BIGINT) AS query_rows,
    try_cast(w->>'$.queriers' AS BIGINT) AS queriers,
    try_cast(w->>'$.secondary_indexes' AS BIGINT) AS secondary_indexes, count(*) AS runs,
    coalesce(list(DISTINCT f.family ORDER BY f.family) FILTER (f.family IS NOT NULL), []) AS families
FROM plans LEFT JOIN server_families f USING (flavour)
WHERE len($steps::VARCHAR[]) = 0 OR list_contains($steps::VARCHAR[], s.name)
GROUP BY ALL
ORDER BY step_id, setup, runs DESC
