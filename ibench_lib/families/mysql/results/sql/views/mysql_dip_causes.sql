-- The causes that dips on MySQL and the servers that descend from it may have: see `dip_causes`.
SELECT * FROM (VALUES
    ('lock', 'other', 'lock', 'a global or metadata lock was held', 'the process list at that time'),
    ('row_locks', 'symptom', 'row locks', 'transactions waited for row locks', 'SHOW ENGINE INNODB STATUS at that time'),
    ('checkpoint', 'mechanism', 'checkpoint', 'writers waited for a checkpoint',
     'the size of the redo log, and how fast pages are flushed'),
    ('redo', 'mechanism', 'redo', 'redo could not be written fast enough', 'fsync times of the device, and innodb_log_buffer_size'),
    ('free_pages', 'mechanism', 'free pages', 'threads waited for free pages',
     'LRU flushing: page cleaners, and innodb_lru_scan_depth'),
    ('doublewrite', 'mechanism', 'doublewrite', 'writes waited for the doublewrite buffer',
     'the same run without innodb_doublewrite'),
    ('purge', 'other', 'purge', 'statements were delayed because purge lagged', 'innodb_max_purge_lag, long transactions')
) causes(cause, layer, label, words, look_at)
