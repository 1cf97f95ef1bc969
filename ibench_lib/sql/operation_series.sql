-- What the clients saw over the time of each step, all of them together, a row per series and moment:
-- inserts_per_s, deletes_per_s (rows/s), queries_per_s; insert_max_s, delete_max_s, query_max_s, the worst response
-- that ended in a second; clients_cpu, CPUs that the client processes kept busy. `t_s` counts from the step's start and
-- is the middle of what the row covers: of a second, or where a step has more than `points` of them of a bucket of
-- `bucket_s` seconds, which keeps the least, the mean and the greatest. A rate is known of full seconds only. NULL: in
-- that second nothing was answered. A series that a step does not have is left out.
--
-- $runs: ids of the runs
-- $points: how many points a series may have at most
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    SELECT *, ceil((duration_s + 2) / $points)::BIGINT AS bucket_s FROM timed_steps($runs, $steps)
), answered AS (
    SELECT
        c.run_id, c.step_id, c.bucket_s, o.second, o.second < c.full_seconds AS whole,
        CASE WHEN o.operation IN ('range_query', 'point_query') THEN 'query' ELSE o.operation END AS operation,
        o."rows", o.ops, o.service_max_us, o.cpu_user_s + o.cpu_system_s AS cpu_s
    FROM ops o JOIN chosen c USING (run_id, step_id)
), seconds AS (
    SELECT
        run_id, step_id, bucket_s, second,
        sum("rows") FILTER (whole AND operation = 'insert')::DOUBLE AS inserts_per_s,
        sum("rows") FILTER (whole AND operation = 'delete')::DOUBLE AS deletes_per_s,
        sum(ops) FILTER (whole AND operation = 'query')::DOUBLE AS queries_per_s,
        max(service_max_us) FILTER (operation = 'insert') / 1e6 AS insert_max_s,
        max(service_max_us) FILTER (operation = 'delete') / 1e6 AS delete_max_s,
        max(service_max_us) FILTER (operation = 'query') / 1e6 AS query_max_s,
        CASE WHEN count(*) = count(cpu_s) AND bool_and(whole) THEN sum(cpu_s) END AS clients_cpu
    FROM answered GROUP BY ALL
), long AS (
    FROM seconds UNPIVOT INCLUDE NULLS (value FOR series IN (COLUMNS(* EXCLUDE (run_id, step_id, bucket_s, second))))
    QUALIFY count(value) OVER (PARTITION BY run_id, step_id, series) > 0
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status, c.bucket_s,
    'clients' AS source, l.series, (l.second // c.bucket_s + 0.5::DOUBLE) * c.bucket_s AS t_s,
    min(l.value) AS low, avg(l.value) AS middle, max(l.value) AS high
FROM long l JOIN chosen c USING (run_id, step_id)
GROUP BY ALL
ORDER BY c.step_id, c.setup, c.dbms_position, c.repeat, l.series, t_s
