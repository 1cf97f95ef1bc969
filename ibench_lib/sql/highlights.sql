-- The dbms with the highest and the lowest value of each headline metric per setup and step, over complete steps; with
-- repeats the median of each dbms. Only where at least two dbms have a value and they differ; of equals the first.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    FROM selected_steps($runs, $steps) WHERE step_status = 'complete'
), totals AS (
    SELECT run_id, step_id,
           sum("rows") FILTER (role = 'inserter') AS inserted, sum(ops) FILTER (role = 'querier') AS queries
    FROM workers GROUP BY run_id, step_id
), probed AS (
    SELECT run_id, step_id, max(seconds) AS get_min_s FROM probes WHERE probe = 'get_min' GROUP BY run_id, step_id
), measured AS (
    SELECT setup, dbms, dbms_position, step_id, step,
           CASE kind WHEN 'query' THEN 'qps' ELSE 'ips' END AS metric,
           CASE kind WHEN 'query' THEN queries WHEN 'index' THEN existing_rows ELSE inserted END
               / nullif(duration_s, 0) AS value
    FROM chosen LEFT JOIN totals USING (run_id, step_id)
    UNION ALL
    SELECT setup, dbms, dbms_position, step_id, step, 'hll', history_list_length FROM chosen
    UNION ALL
    SELECT setup, dbms, dbms_position, step_id, step, 'get_min_s', get_min_s
    FROM chosen JOIN probed USING (run_id, step_id)
), typical AS (
    SELECT setup, dbms, dbms_position, step_id, step, metric, median(value) AS value
    FROM measured WHERE value IS NOT NULL GROUP BY ALL
)
SELECT
    setup, step_id, step, metric, count(*) AS dbms_count,
    arg_max(dbms, row(value, -dbms_position)) AS highest_dbms, max(value) AS highest,
    arg_min(dbms, row(value, dbms_position)) AS lowest_dbms, min(value) AS lowest
FROM typical
GROUP BY setup, step_id, step, metric
HAVING count(*) >= 2 AND max(value) > min(value)
ORDER BY setup, step_id, metric
