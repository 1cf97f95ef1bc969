-- Everything that was sampled in chosen steps, a row per series and sample. `source` is server, process, host or device
-- (the one that holds the data; if several do, the one with the longest name, a partition and not its disk), `series` a
-- column of the view <source>_seconds; cpu_per_s is user and system CPU together, read_ms, write_ms and flush_ms the
-- mean time of a request, redo_fsync_ms that of an fsync of the redo log. `t_s`, counted from the step's
-- start, is the moment at which a value was read, or the end of a rate's interval, whose length is `seconds`. The value
-- is NULL if the interval begins before the step, or if nothing was captured. A source without a sample in a step has
-- one row with a NULL `t_s` for each of its series.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH chosen AS (
    FROM steps_of($ids, $names) WHERE start_s IS NOT NULL
), server AS (
    SELECT c.run_id, c.step_id, x.t_s - c.start_s AS t_s, x.seconds,
           COLUMNS(x.* EXCLUDE (run_id, t_s, tick, incarnation, seconds))::DOUBLE,
           x.redo_flush_ms_per_s / nullif(x.redo_fsyncs_per_s, 0) AS redo_fsync_ms
    FROM chosen c
    LEFT JOIN (FROM server_seconds WHERE list_contains($ids, run_id)) x
        ON x.run_id = c.run_id AND x.t_s >= c.start_s AND x.t_s <= c.end_s
), process AS (
    SELECT c.run_id, c.step_id, x.t_s - c.start_s AS t_s, x.seconds,
           COLUMNS(x.* EXCLUDE (run_id, t_s, tick, pid, state, seconds))::DOUBLE,
           x.cpu_user_s_per_s + x.cpu_system_s_per_s AS cpu_per_s
    FROM chosen c
    LEFT JOIN (FROM process_seconds WHERE list_contains($ids, run_id)) x
        ON x.run_id = c.run_id AND x.t_s >= c.start_s AND x.t_s <= c.end_s
), host AS (
    SELECT c.run_id, c.step_id, x.t_s - c.start_s AS t_s, x.seconds,
           COLUMNS(x.* EXCLUDE (run_id, t_s, tick, seconds))::DOUBLE,
           x.cpu_user_s_per_s + x.cpu_system_s_per_s AS cpu_per_s
    FROM chosen c
    LEFT JOIN (FROM host_seconds WHERE list_contains($ids, run_id)) x
        ON x.run_id = c.run_id AND x.t_s >= c.start_s AND x.t_s <= c.end_s
), device AS (
    SELECT c.run_id, c.step_id, x.t_s - c.start_s AS t_s, x.seconds,
           COLUMNS(x.* EXCLUDE (run_id, device, t_s, tick, holds_data, seconds))::DOUBLE,
           1e3 * x.read_s_per_s / nullif(x.reads_per_s, 0) AS read_ms,
           1e3 * x.write_s_per_s / nullif(x.writes_per_s, 0) AS write_ms,
           1e3 * x.flush_s_per_s / nullif(x.flushes_per_s, 0) AS flush_ms
    FROM chosen c
    LEFT JOIN data_device_seconds($ids) x ON x.run_id = c.run_id AND x.t_s >= c.start_s AND x.t_s <= c.end_s
), long AS (
    SELECT 'server' AS source, * FROM server
    UNPIVOT INCLUDE NULLS (value FOR series IN (COLUMNS(* EXCLUDE (run_id, step_id, t_s, seconds))))
    UNION ALL BY NAME
    SELECT 'process' AS source, * FROM process
    UNPIVOT INCLUDE NULLS (value FOR series IN (COLUMNS(* EXCLUDE (run_id, step_id, t_s, seconds))))
    UNION ALL BY NAME
    SELECT 'host' AS source, * FROM host
    UNPIVOT INCLUDE NULLS (value FOR series IN (COLUMNS(* EXCLUDE (run_id, step_id, t_s, seconds))))
    UNION ALL BY NAME
    SELECT 'device' AS source, * FROM device
    UNPIVOT INCLUDE NULLS (value FOR series IN (COLUMNS(* EXCLUDE (run_id, step_id, t_s, seconds))))
), rates AS (
    SELECT *,
           series LIKE '%\_per\_s' ESCAPE '\'
           OR series IN ('read_ms', 'write_ms', 'flush_ms', 'redo_fsync_ms') AS is_rate
    FROM long
)
SELECT
    run_id, step_id, source, series, t_s, CASE WHEN is_rate AND seconds <= t_s THEN seconds END AS seconds,
    CASE WHEN NOT is_rate OR seconds <= t_s THEN value END AS value
FROM rates
