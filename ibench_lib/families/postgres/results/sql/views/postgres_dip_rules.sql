-- The rules of causes that dips on PostgreSQL may have: see `dip_rules`.
SELECT * FROM (VALUES
    ('table_lock', 3, 'postgres.lock_share', 'max', 'at least', 0.5, 0, 'at least half of the clients waited for such a lock'),
    ('table_lock', 2, 'process.cpu_per_s', 'mean', 'falls to', 0.3, 0, 'the server hardly used CPU'),
    ('tuple_lock', 3, 'postgres.row_lock_share', 'max', 'at least', 0.5, 0, 'at least half of the clients waited for a row lock'),
    ('tuple_lock', 2, 'clients.retries_per_s', 'max', 'times', 3, 1, 'deadlocks and lock timeouts were retried'),
    ('checkpointer', 3, 'postgres.checkpoints', 'mean', 'rises to', 0.5, 0.25, 'a checkpoint was under way for at least half of the time'),
    ('checkpointer', 2, 'postgres.checkpoint_pages_per_s', 'max', 'times', 2, 100, 'checkpoints wrote at least twice as many pages'),
    ('full_pages', 3, 'postgres.full_page_share', 'mean', 'rises to', 0.5, 0.25, 'at least half of the log was images of whole pages'),
    ('full_pages', 2, 'postgres.wal_bytes_per_s', 'mean', 'times', 1.2, 1000000, 'the log grew at least 1.2 times as fast'),
    ('full_pages', -2, 'postgres.wal_bytes_per_s', 'mean', 'falls to', 0.5, 1000, 'hardly anything was logged'),
    ('full_pages', -2, 'postgres.checkpoints', 'max', 'rises to', 1, 0.5, 'a checkpoint was still under way'),
    ('wal', 3, 'postgres.wal_share', 'mean', 'rises to', 0.5, 0.3, 'at least half of the clients waited for the log'),
    ('wal', 2, 'postgres.wal_buffers_full_per_s', 'max', 'times', 2, 10, 'the buffers of the log were full'),
    ('wal', 2, 'device.flush_ms', 'max', 'times', 3, 5, 'flushes of the device took at least 3 times as long'),
    ('vacuum', 3, 'postgres.vacuums', 'mean', 'rises to', 0.5, 0.25, 'a vacuum was under way for at least half of the time'),
    ('vacuum', 2, 'postgres.vacuums_undelayed', 'mean', 'at least', 0.5, 0, 'it worked at full speed, not limited by its cost delay')
) rules(cause, points, measure, statistic, test, threshold, least, says)
