-- The device of the server's data over the time of each step (`sampled_buckets`): requests and bytes a second, the mean
-- time of a request in milliseconds, and the share of the time in which it had one (busy_s_per_s). NULL of a time: no
-- such request ended; all NULL: no device is known to hold the data.
--
-- $runs: ids of the runs
-- $points: how many points a series may have at most
-- $steps: names of the steps to show; an empty list means all
FROM sampled_buckets($runs, $steps, $points)
WHERE source = 'device' AND series IN (
    'reads_per_s', 'writes_per_s', 'flushes_per_s', 'read_bytes_per_s', 'written_bytes_per_s',
    'read_ms', 'write_ms', 'flush_ms', 'busy_s_per_s'
)
ORDER BY step_id, setup, dbms_position, repeat, series, t_s
