-- Throughput of each run and step. T is the time from the common start of all clients to the last client's end.
-- throughput: the rate of the step's main operations over T; in a step that works on existing rows, these rows / T.
-- rate_label: its name. The rates that workloads have names for follow; they are NULL if a step has no such operation.
-- `rates_by_family` has the rates of all families of operations. row_rate: see `step_rates`. maxop_s: worst response of
-- the step's main operation. ccpupq_us: client CPU microseconds per operation of the throughput. sla_failed: in a
-- rate-limited step, whether the rate of a family that has the target is below `sla_share` of clients x target.
-- paced: whether the operations that throughput counts had a target rate, and not only others next to them.
-- client_bound: why the clients limited the step; NULL if they did not. unrecorded_share: the largest share of T that
-- one client process spent in statements that are no operations, so in no rate and no response time; unrecorded_role:
-- what that process is. connections: those of the clients, of each of which one role counts (`step_connections`).
-- compared: whether the throughput is a result (a warm-up's is none). Figures of a step whose status is not complete
-- cover what was done.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH unrecorded AS (
    SELECT run_id, step_id, max(unrecorded_s) AS unrecorded_s, arg_max(role, unrecorded_s) AS unrecorded_role
    FROM workers GROUP BY run_id, step_id
)
SELECT
    s.setup, s.dbms, s.dbms_position, s.repeat, s.run_id, s.run_status, s.step_id, s.step, s.kind, s.step_status,
    s.clients, s.duration_s, unnest(workload_rates(s.benchmark, r.rates)), s.rate_label, r.throughput, r.row_rate,
    w.maxop_s, r.ccpupq_us, s.history_list_length, s.clients * s.target_rows_per_s AS target_per_s,
    list_bool_or(missed_rates(s.paced, r.rates, target_per_s)) AS sla_failed,
    s.target_rows_per_s IS NOT NULL AND list_contains(s.paced, s.main) AS paced, s.client_bound,
    u.unrecorded_s / nullif(s.duration_s, 0) AS unrecorded_share, u.unrecorded_role, r.errors, r.retries, r.unknown,
    k.of_one_role AS connections, s.compared
FROM selected_steps($runs, $steps) s
LEFT JOIN rates_of_steps($runs, $steps) r USING (run_id, step_id)
LEFT JOIN unrecorded u USING (run_id, step_id)
LEFT JOIN step_connections($runs, $steps) k USING (run_id, step_id)
LEFT JOIN worst_response($runs, $steps) w USING (run_id, step_id)
ORDER BY s.setup, s.dbms_position, s.repeat, s.step_id
