-- What the selected runs of TPC-C were, without published figures: one row per experiment, setup and workload.
-- `complete`: runs that ended well, for which all chosen checks held after the load and after the run, except those that
-- the profile's own defects break (`checks`). `drawn_conditions` were checked of `drawn_warehouses` of all sets only.
-- `deviations` are those of the profile from the specification, as JSON.
--
-- $runs: ids of the runs
WITH described AS (
    SELECT
        experiment, setup, status, workload::JSON AS w,
        from_json(
            workload::JSON->'$.resolved_steps', '[{"kind": "VARCHAR", "seconds": "DOUBLE", "ramp_up_s": "DOUBLE"}]'
        ) AS steps
    FROM selected_runs($runs) WHERE benchmark = 'tpcc' AND workload::JSON->>'$.clients' IS NOT NULL
)
SELECT
    experiment, setup, w->>'$.profile' AS profile, try_cast(w->>'$.setup.sets' AS BIGINT) AS sets,
    try_cast(w->>'$.warehouses_used' AS BIGINT) AS warehouses, try_cast(w->>'$.setup.terminals' AS BIGINT) AS terminals,
    try_cast(w->>'$.clients' AS BIGINT) AS clients, w->>'$.isolation' AS isolation, w->>'$.foreign_keys' AS foreign_keys,
    w->>'$.indexes' AS indexes, w->>'$.home' AS home, try_cast(w->'$.weights' AS BIGINT[]) AS weights,
    try_cast(w->>'$.rate' AS DOUBLE) AS rate, try_cast(w->>'$.think_time' AS DOUBLE) AS think_time, w->>'$.checks' AS checks,
    try_cast(w->>'$.count_rows' AS BOOLEAN) AS count_rows,
    coalesce(w->>'$.protocol', 'text') AS protocol, coalesce(w->>'$.deviations', '[]') AS deviations,
    coalesce(try_cast(w->'$.drawn_conditions' AS VARCHAR[]), []) AS drawn_conditions,
    coalesce(json_array_length(w->'$.drawn_warehouses'), 0)
        * coalesce(try_cast(w->>'$.setup.sets' AS BIGINT), 1) AS drawn_warehouses,
    coalesce(
        list_filter(steps, lambda step: step.kind = 'ramp_up')[1].seconds,
        list_filter(steps, lambda step: step.kind = 'run')[1].ramp_up_s
    ) AS ramp_up_s,
    list_filter(steps, lambda step: step.kind = 'run')[1].seconds AS run_s,
    count(*) AS runs, count(*) FILTER (status = 'complete') AS complete
FROM described
GROUP BY ALL
ORDER BY experiment, setup, runs DESC
