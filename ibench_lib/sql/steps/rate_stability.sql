-- How even the throughput of each run and step was from second to second, all clients together: the rate of its main
-- operations. rate_p50, rate_p99: the rate that was met or beaten in 50 %, 99 % of the
-- step's full seconds. stalled_seconds: seconds of a stall (`stalls`), of the seconds_at_work in which
-- no client was done yet. A step whose work is done on existing rows has no rate.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, kind, step_status,
    full_seconds, rate_p50, rate_p99, seconds_at_work, stalled_seconds
FROM selected_steps($runs, $steps) LEFT JOIN second_rates($runs, $steps) USING (run_id, step_id)
WHERE NOT of_existing_rows
ORDER BY setup, dbms_position, repeat, step_id
