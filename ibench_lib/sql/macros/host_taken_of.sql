-- How much of its host's CPUs each chosen step did not have, by the counters at its ends: `stolen`, the share of all CPUs
-- that the hypervisor kept; `others`, the share that neither the server nor the clients used; `taken`, both; `much`, whether
-- that is 10 % or more, so that the host was busy with other work. A step without these counters (of an older ibench, a
-- remote server, a server that was restarted) has no row.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH own AS (
    SELECT run_id, step_id, sum(cpu_user_s + cpu_system_s) / nullif(max(end_s) - min(start_s), 0) AS cpus
    FROM workers WHERE list_contains($ids::VARCHAR[], run_id) GROUP BY ALL
), used AS (
    SELECT
        run_id, step_id, source, counter IN ('cpu_user_s', 'cpu_system_s') AS busy, counter = 'cpu_steal_s' AS stolen,
        (end_value - start_value) / nullif(end_s - start_s, 0) AS cpus
    FROM step_counters
    WHERE list_contains($ids::VARCHAR[], run_id)
      AND (len($names::VARCHAR[]) = 0 OR list_contains($names::VARCHAR[], step))
      AND counter IN ('cpu_user_s', 'cpu_system_s', 'cpu_iowait_s', 'cpu_steal_s', 'cpu_idle_s')
), summed AS (
    SELECT
        run_id, step_id, sum(cpus) FILTER (source = 'host') AS every,
        sum(cpus) FILTER (source = 'host' AND stolen) AS stolen, sum(cpus) FILTER (source = 'host' AND busy) AS busy,
        sum(cpus) FILTER (source = 'process' AND busy) AS server
    FROM used GROUP BY ALL
)
SELECT
    run_id, step_id, s.stolen / nullif(every, 0) AS stolen, at_least_0(busy - server - o.cpus) / nullif(every, 0) AS others,
    s.stolen / nullif(every, 0) + at_least_0(busy - server - o.cpus) / nullif(every, 0) AS taken, taken >= 0.1 AS much
FROM summed s JOIN own o USING (run_id, step_id)
