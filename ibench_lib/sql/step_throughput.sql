-- Throughput of each run and step. T is the time from the common start of all clients to the last client's end.
-- ips: rows inserted / T, in an index step existing rows / T; dps: rows deleted / T; qps: queries / T; NULL where a
-- step has no such operation. maxop_s: worst response of the step's main operation. ccpupq_us: client CPU microseconds
-- per row inserted, or per query in query steps. sla_failed: in a rate-limited step the insert or the delete rate is
-- under 0.95 of clients x target. client_bound: why the clients limited the step, NULL if they did not. Figures of a
-- step whose status is not complete cover what was done.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH rates AS (
    SELECT s.*, r.* EXCLUDE (run_id, step_id), w.maxop_s, s.clients * s.target_rows_per_s AS target_per_s
    FROM selected_steps($runs, $steps) s
    LEFT JOIN step_rates r USING (run_id, step_id)
    LEFT JOIN worst_response($runs, $steps) w USING (run_id, step_id)
)
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, kind, step_status, clients,
    duration_s, ips, dps, qps,
    CASE WHEN kind = 'query' THEN 'qps' ELSE 'ips' END AS main_metric,
    throughput, maxop_s, ccpupq_us, history_list_length, target_per_s,
    CASE WHEN target_per_s IS NOT NULL
         THEN coalesce(ips, 0) < 0.95 * target_per_s OR coalesce(dps, 0) < 0.95 * target_per_s END AS sla_failed,
    client_bound, errors, retries, unknown
FROM rates
ORDER BY setup, dbms_position, repeat, step_id
