-- How even the throughput of each run and step was from second to second, all clients together: the rate of its main
-- operations, in the seconds_at_work: the step's full seconds in which no client had ended yet. rate_p50, rate_p99: the
-- rate that was met or beaten in 50 %, 99 % of them. stalled_seconds: those of a stall (`stalls`). A step whose work is
-- done on existing rows has no rate.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, kind, step_status,
    seconds_at_work, rate_p50, rate_p99, stalled_seconds
FROM selected_steps($runs, $steps) LEFT JOIN second_rates($runs, $steps) USING (run_id, step_id)
WHERE NOT of_existing_rows
ORDER BY setup, dbms_position, repeat, step_id
