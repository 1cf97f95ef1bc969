-- The causes that a dip may be attributed to. `layer`: an origin can cause a mechanism: slow storage, for instance, makes
-- threads wait for free pages. Both can cause a symptom: transactions that wait for anything hold their row locks for
-- longer. A neighbour can cause all of these: who has no CPU takes long to see that a request is complete. `label` is
-- its name in charts, `words` follow "because", `look_at` says what to check.
SELECT * FROM (VALUES
    ('restart', 'other', 'restart', 'the server was restarted', 'the error log of the server'),
    ('server_stopped', 'other', 'server stopped', 'the server process did not run',
     'who sent it a signal, or stopped its container'),
    ('machine_paused', 'origin', 'machine paused', 'the whole machine was paused',
     'the hypervisor, snapshots of the machine, suspended containers'),
    ('cpu_starved', 'neighbour', 'CPU taken', 'other processes or the hypervisor took the CPU',
     'what else ran on the host; on a virtual machine, what the hypervisor keeps (steal)'),
    ('client_pause', 'other', 'client pause', 'the clients sent nothing', 'the hosts of the clients'),
    ('lock', 'other', 'lock', 'a global or metadata lock was held', 'the process list at that time'),
    ('row_locks', 'symptom', 'row locks', 'transactions waited for row locks', 'SHOW ENGINE INNODB STATUS at that time'),
    ('checkpoint', 'mechanism', 'checkpoint', 'writers waited for a checkpoint',
     'the size of the redo log, and how fast pages are flushed'),
    ('redo', 'mechanism', 'redo', 'redo could not be written fast enough', 'fsync times of the device, and innodb_log_buffer_size'),
    ('free_pages', 'mechanism', 'free pages', 'threads waited for free pages',
     'LRU flushing: page cleaners, and innodb_lru_scan_depth'),
    ('doublewrite', 'mechanism', 'doublewrite', 'writes waited for the doublewrite buffer',
     'the same run without innodb_doublewrite'),
    ('purge', 'other', 'purge', 'statements were delayed because purge lagged', 'innodb_max_purge_lag, long transactions'),
    ('storage', 'origin', 'storage', 'the storage was slow', 'the device, its limits, and what else uses it'),
    ('memory', 'origin', 'memory', 'there was too little memory', 'the memory limit of the server, and what else uses memory')
) causes(cause, layer, label, words, look_at)
