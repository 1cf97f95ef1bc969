-- The server's own figures, second by second.
-- A row is the interval of `seconds` that ends at its sample: `<column>_per_s` is the growth of a cumulative column per
-- second; the other columns are as sampled. A rate is NULL in a run's first sample, next to a sample without a value,
-- after a restart of the server, and where the column went down.
WITH grown AS (
    SELECT
        run_id, t_s, tick, incarnation, history_list_length, uptime_s, threads_running, checkpoint_age_bytes,
        checkpoint_age_async_bytes, checkpoint_age_sync_bytes, checkpoint_age_limit_bytes, redo_capacity_bytes,
        dirty_pages, free_pages, pages, redo_pending_fsyncs, row_locks_awaited, purge_delay_us,
        nullif(t_s - lag(t_s) OVER samples, 0) AS seconds,
        incarnation IS NOT DISTINCT FROM lag(incarnation) OVER samples AS same,
        COLUMNS(* EXCLUDE (
            run_id, t_s, tick, incarnation, history_list_length, uptime_s, threads_running, checkpoint_age_bytes,
            checkpoint_age_async_bytes, checkpoint_age_sync_bytes, checkpoint_age_limit_bytes, redo_capacity_bytes,
            dirty_pages, free_pages, pages, redo_pending_fsyncs, row_locks_awaited, purge_delay_us
        )) - lag(COLUMNS(* EXCLUDE (
            run_id, t_s, tick, incarnation, history_list_length, uptime_s, threads_running, checkpoint_age_bytes,
            checkpoint_age_async_bytes, checkpoint_age_sync_bytes, checkpoint_age_limit_bytes, redo_capacity_bytes,
            dirty_pages, free_pages, pages, redo_pending_fsyncs, row_locks_awaited, purge_delay_us
        ))) OVER samples AS '\0_per_s'
    FROM server_samples
    WINDOW samples AS (PARTITION BY run_id ORDER BY t_s)
)
SELECT
    run_id, t_s, tick, incarnation, seconds, history_list_length, uptime_s, threads_running, checkpoint_age_bytes,
    checkpoint_age_async_bytes, checkpoint_age_sync_bytes, checkpoint_age_limit_bytes, redo_capacity_bytes,
    dirty_pages, free_pages, pages, redo_pending_fsyncs, row_locks_awaited, purge_delay_us,
    CASE WHEN same AND COLUMNS('_per_s$') >= 0 THEN COLUMNS('_per_s$') / seconds END AS '\0'
FROM grown
