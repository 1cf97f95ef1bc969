-- The experiments in the lake, the one with the newest run first: how many runs there are of each, how they stand, the
-- cells they are of (dbms x setup), and when the first and the last began (UTC).
SELECT
    experiment, arg_max(title, row(origin_wall, run_id)) AS title, count(*) AS runs,
    count(*) FILTER (status = 'complete') AS complete, count(*) FILTER (status = 'running') AS running,
    count(*) FILTER (status IN ('failed', 'interrupted')) AS not_completed,
    count(DISTINCT dbms) AS dbms, list_sort(list_distinct(list(setup))) AS setups,
    min(origin_wall) AS first_begun, max(origin_wall) AS last_begun
FROM runs GROUP BY experiment
ORDER BY last_begun DESC, max(run_id) DESC
