-- What the selected runs of sysbench were: one row per experiment, setup, workload and program. `complete`: runs that
-- ended well, for which all checks held after each step. version, sha256: of sysbench.
-- warming: those of the tests that only warm up, whose rates are no results. prepared_by: the Lua file of the user's that
-- made the tables; NULL if they are those of sysbench.
--
-- $runs: ids of the runs
SELECT
    experiment, setup, try_cast(w->>'$.resolved_steps[0].tables' AS BIGINT) AS tables,
    try_cast(w->>'$.resolved_steps[0].table_size' AS BIGINT) AS table_size, w->>'$.rand_type' AS rand_type,
    w->>'$.db_ps_mode' AS db_ps_mode, try_cast(w->'$.threads' AS BIGINT[]) AS threads,
    list_transform(from_json(w->'$.tests', '[{"name": "VARCHAR", "test": "VARCHAR"}]'),
        lambda test: coalesce(nullif(test.name, ''), test.test)) AS tests,
    list_distinct(list_transform(list_filter(
        from_json(w->'$.resolved_steps', '[{"kind": "VARCHAR", "test": {"name": "VARCHAR"}}]'),
        lambda step: step.kind = 'warm_up'), lambda step: step.test.name)) AS warming,
    try_cast(w->>'$.setup.warm_up' AS DOUBLE) > 0 AS has_warm_up,
    w->>'$.prepare.test' AS prepared_by, w->>'$.program.version' AS version, w->>'$.program.sha256' AS sha256,
    count(*) AS runs, count(*) FILTER (status = 'complete') AS complete
FROM (SELECT run_id, experiment, setup, status, workload::JSON AS w FROM selected_runs($runs) WHERE benchmark = 'sysbench')
GROUP BY ALL
ORDER BY experiment, setup, runs DESC, min(run_id)
