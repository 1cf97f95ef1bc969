-- The server's own figures over the time of each step (`sampled_buckets`) that help to explain stalls: history list,
-- checkpoint age and its limits, redo log, pages of the buffer pool, flushing by kind, waits. Series have the names of
-- the columns of `server_seconds`. NULL: the server did not answer; all NULL: it does not have this figure.
--
-- $runs: ids of the runs
-- $points: how many points a series may have at most
-- $steps: names of the steps to show; an empty list means all
FROM sampled_buckets($runs, $steps, $points)
WHERE source = 'server' AND series IN (
    'history_list_length',
    'checkpoint_age_bytes', 'checkpoint_age_async_bytes', 'checkpoint_age_sync_bytes', 'checkpoint_age_limit_bytes',
    'dirty_pages', 'free_pages',
    'pages_flushed_adaptive_per_s', 'pages_flushed_sync_per_s', 'pages_flushed_background_per_s',
    'pages_flushed_lru_per_s', 'pages_written_per_s',
    'redo_waits_per_s', 'redo_file_waits_per_s', 'sync_flush_waits_per_s', 'free_page_waits_per_s',
    'redo_lsn_bytes_per_s', 'redo_fsyncs_per_s', 'data_fsyncs_per_s', 'redo_fsync_ms',
    'doublewrite_pages_per_s', 'doublewrite_writes_per_s', 'row_locks_awaited'
)
ORDER BY step_id, setup, dbms_position, repeat, series, t_s
