-- What the selected runs of LinkBench were, without published figures: one row per experiment, setup and workload.
-- `complete`: runs that ended well, for which all checks held after each step.
--
-- $runs: ids of the runs
SELECT
    experiment, setup, try_cast(w->>'$.nodes_used' AS BIGINT) AS nodes,
    try_cast(w->>'$.loaded.linktable' AS BIGINT) AS links,
    w->>'$.degree_tail' AS degree_tail, w->>'$.tables' AS tables, w->>'$.statements' AS statements,
    try_cast(w->>'$.partitions' AS BIGINT) AS partitions, try_cast(w->>'$.clients' AS BIGINT) AS clients,
    try_cast(w->'$.requesters' AS BIGINT[]) AS requesters, try_cast(w->>'$.rate' AS DOUBLE) AS rate,
    try_cast(w->>'$.checked_ids' AS BIGINT) AS checked_ids, try_cast(w->>'$.count_rows' AS BOOLEAN) AS count_rows,
    count(*) AS runs, count(*) FILTER (status = 'complete') AS complete
FROM (SELECT experiment, setup, status, workload::JSON AS w FROM selected_runs($runs) WHERE benchmark = 'linkbench'
    AND workload::JSON->>'$.clients' IS NOT NULL)
GROUP BY ALL
ORDER BY experiment, setup, runs DESC
