-- Series of `sampled` that have no value in a step, with the reason if it is known; and the CPU of the clients
-- (clients_cpu). A source without any sample (a collector left out, a remote
-- server's process) is one row with a NULL `series`.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH missing AS (
    SELECT
        run_id, step_id, source, series,
        count(t_s) = 0 AND coalesce(sum(count(t_s)) OVER (PARTITION BY run_id, step_id, source), 0) = 0 AS silent
    FROM sampled($runs, $steps) GROUP BY run_id, step_id, source, series
    QUALIFY count(value) = 0
    UNION ALL
    SELECT run_id, step_id, 'clients', 'clients_cpu', false
    FROM ops SEMI JOIN selected_steps($runs, $steps) USING (run_id, step_id)
    GROUP BY run_id, step_id HAVING count(cpu_user_s + cpu_system_s) = 0
), named AS (
    SELECT DISTINCT run_id, step_id, source, CASE WHEN silent THEN NULL ELSE series END AS series FROM missing
)
SELECT
    s.setup, s.dbms, s.dbms_position, s.repeat, s.run_id, s.run_status, s.step_id, s.step, s.step_status,
    n.source, n.series,
    coalesce(
        json_extract_string(r.null_reasons, CASE
            -- Times are computed from the sums next to them.
            WHEN n.series IN ('read_ms', 'write_ms', 'flush_ms')
                THEN '$."device_samples.' || replace(n.series, '_ms', '_s') || '"'
            WHEN n.source = 'clients' THEN '$."ops.cpu_user_s"'
            WHEN n.series IS NOT NULL
                THEN '$."' || n.source || '_samples.' || regexp_replace(n.series, '_per_s$', '') || '"'
            WHEN n.source = 'device' THEN '$."device_samples.holds_data"' END),
        CASE WHEN n.series IS NULL THEN 'no sample in the step'
             WHEN n.series IN ('read_ms', 'write_ms', 'flush_ms') THEN 'none was counted in the step'
             ELSE 'no value in the step' END
    ) AS reason
FROM named n
JOIN selected_steps($runs, $steps) s USING (run_id, step_id)
JOIN runs r USING (run_id)
ORDER BY s.step_id, s.setup, s.dbms_position, s.repeat, n.source, n.series
