-- CPU over the time of each step (`sampled_buckets`), in CPUs: 2.0 means two busy CPUs. For the host: user and
-- system time together (cpu_per_s), waiting for I/O, and steal; for the server's process: user and system time together.
--
-- $runs: ids of the runs
-- $points: how many points a series may have at most
-- $steps: names of the steps to show; an empty list means all
FROM sampled_buckets($runs, $steps, $points)
WHERE (source = 'host' AND series IN ('cpu_per_s', 'cpu_iowait_s_per_s', 'cpu_steal_s_per_s'))
    OR (source = 'process' AND series = 'cpu_per_s')
ORDER BY step_id, setup, dbms_position, repeat, source, series, t_s
