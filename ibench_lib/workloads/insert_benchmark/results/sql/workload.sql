-- The workload of the selected runs, as far as it applies to all steps: one row per experiment, setup and workload.
-- `repeats` is the largest number of runs of a cell, `dbms` are those of these runs. data_length: minimum and maximum
-- length of `data`. edition: of the rows and statements that the same options make; runs that were made before there was
-- a second one are of the first.
--
-- $runs: ids of the runs
WITH described AS (
    SELECT experiment, setup, dbms, repeat, scale, workload::JSON AS w FROM selected_runs($runs)
    WHERE benchmark = 'insert_benchmark' AND workload::JSON->>'$.clients' IS NOT NULL
)
SELECT
    experiment, setup, try_cast(w->>'$.clients' AS BIGINT) AS clients, len(try_cast(w->'$.tables_used' AS JSON[])) AS tables,
    w->>'$.engine' AS engine, try_cast(w->>'$.secondary_indexes' AS BIGINT) AS secondary_indexes,
    try_cast(w->'$.data_length' AS BIGINT[]) AS data_length, try_cast(w->>'$.queriers' AS BIGINT) AS queriers,
    w->>'$.protocol' AS protocol, w->>'$.transport' AS transport, w->>'$.settle' AS settle,
    coalesce(try_cast(w->>'$.edition' AS BIGINT), 1) AS edition,
    try_cast(w->>'$.count_rows' AS BOOLEAN) AS count_rows, try_cast(w->>'$.rocksdb_bulk_load' AS BOOLEAN) AS bulk_load, scale,
    count(*) AS runs, count(DISTINCT dbms) AS dbms_count, count(DISTINCT repeat) AS repeats,
    list(DISTINCT dbms ORDER BY dbms) AS dbms
FROM described
GROUP BY ALL
ORDER BY experiment, setup, runs DESC
