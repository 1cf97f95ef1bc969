-- The CPUs that the server's process used over each step: `user_cpus`, `system_cpus`, and `cpus`, what is known of both.
-- Per second of what was done while the counters grew (`op_seconds` of `step_use`), so over the throughput they are the
-- cost per operation.
--
-- $used: name of a table with what `step_use` gives
SELECT
    run_id, step_id,
    any_value(grown / op_seconds) FILTER (counter = 'cpu_user_s' AND known) AS user_cpus,
    any_value(grown / op_seconds) FILTER (counter = 'cpu_system_s' AND known) AS system_cpus,
    sum(grown / op_seconds) FILTER (counter IN ('cpu_user_s', 'cpu_system_s') AND known) AS cpus
FROM query_table($used) WHERE source = 'process' GROUP BY ALL
