-- Every metric of each run and step side by side. T is the time from the common start of all clients to the last
-- client's end; throughput is the rate of the main operations over T, and rate_label is its name. The rates that
-- workloads have names for come before it. rate_p50, rate_p99: the per-second rate that was met or beaten in 50 %, 99 %
-- of the step's full seconds. maxop_s: worst response of the main operation. The other figures are means over the step:
-- rps, wps, rmbps, wmbps of the device that holds the data, csps and cpups of the host; rpq, rkbpq, cspq, cpupq,
-- scpupq, ccpupq_us (client CPU) per operation, wpi and wkbpi per row of the first family that counts rows; rss, dbgb1,
-- dbgb2 in GiB. client_bound: why the clients limited the step. NULL: not captured, or the step has no such thing.
-- of_rows: whether the throughput counts the rows that wpi and wkbpi are per; rows that others insert next to queries are
-- none of these. flavour: of the server; flavours do not count the history list alike. compared: whether the throughput
-- is a result.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
SELECT
    s.setup, s.dbms, s.dbms_position, s.repeat, s.run_id, s.run_status, s.step_id, s.step, s.kind, s.step_status,
    s.duration_s, unnest(workload_rates(s.benchmark, r.rates)), r.throughput, q.rate_p50, q.rate_p99, w.maxop_s,
    s.history_list_length, u.* EXCLUDE (run_id, step_id), r.ccpupq_us,
    r.row_rate IS NOT DISTINCT FROM r.throughput AS of_rows, s.client_bound, s.rate_label, n.flavour, s.compared
FROM selected_steps($runs, $steps) s
JOIN runs n USING (run_id)
LEFT JOIN rates_of_steps($runs, $steps) r USING (run_id, step_id)
LEFT JOIN second_rates($runs, $steps) q USING (run_id, step_id)
LEFT JOIN worst_response($runs, $steps) w USING (run_id, step_id)
LEFT JOIN resources($runs, $steps) u USING (run_id, step_id)
ORDER BY step_id, setup, dbms_position, repeat
