-- The causes that dips on PostgreSQL may have: see `dip_causes`. Their names are its own, because its rules are; labels
-- are those of other servers where they mean the same.
SELECT * FROM (VALUES
    ('table_lock', 'other', 'lock', 'a lock of a table was held', 'pg_locks at that time: ALTER, VACUUM FULL, LOCK TABLE'),
    ('tuple_lock', 'symptom', 'row locks', 'transactions waited for row locks', 'pg_locks at that time'),
    ('checkpointer', 'mechanism', 'checkpoint', 'a checkpoint wrote and synced pages',
     'max_wal_size, checkpoint_timeout and checkpoint_completion_target, and who asked for a CHECKPOINT'),
    ('full_pages', 'mechanism', 'full-page images', 'pages were logged as a whole after a checkpoint',
     'the time between checkpoints, wal_compression, and the same run without full_page_writes'),
    ('wal', 'mechanism', 'WAL', 'the write-ahead log could not be written fast enough',
     'fsync times of the device, wal_buffers, and synchronous_commit'),
    ('vacuum', 'other', 'vacuum', 'a vacuum took CPU and storage',
     'autovacuum_vacuum_cost_delay and cost_limit, and log_autovacuum_min_duration')
) causes(cause, layer, label, words, look_at)
