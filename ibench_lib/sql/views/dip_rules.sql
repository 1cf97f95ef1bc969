-- The rules that assign causes to dips: one row per piece of evidence. `points`: 3 for what is decisive, 2 for what is
-- strong, -2 for what contradicts. `measure` is one of `dip_measures`, `statistic` its mean, still mean, max or
-- min in the dip. `test` says what is held against `threshold`: the statistic itself (at least, at most), or the
-- statistic divided by the mean outside of all dips (times, falls to); then the difference must also be at least
-- `least`, and the statistic outside of the range of 95 % of the samples outside. `rises to`: the statistic itself is at
-- least `threshold`, and more than the mean outside by `least`; outside it may be as high at times. `says`: what it
-- means when it holds. Evidence whose measure is NULL, because this server or host does not give it, is unknown.
SELECT * FROM (VALUES
    ('restart', 3, 'server.restarts', 'max', 'at least', 1, 0, 'there is a new server process'),
    ('restart', 2, 'clients.unknown', 'max', 'at least', 1, 0, 'connections were lost with statements in flight'),
    ('server_stopped', 3, 'process.is_stopped', 'mean', 'at least', 0.3, 0, 'the process is in state T'),
    ('server_stopped', 2, 'server.silent', 'mean', 'at least', 0.5, 0, 'the server did not answer SHOW GLOBAL STATUS'),
    ('server_stopped', 2, 'server.frozen', 'mean', 'at least', 1, 0, 'statements were in flight, and it used no CPU'),
    ('server_stopped', -2, 'process.cpu_per_s', 'min', 'at least', 0.1, 0, 'the server used CPU throughout'),
    ('machine_paused', 3, 'host.is_late', 'mean', 'at least', 0.5, 0, 'the samples of the host itself are late'),
    ('machine_paused', 2, 'server.silent', 'mean', 'at least', 0.5, 0, 'the server did not answer SHOW GLOBAL STATUS'),
    ('cpu_starved', 3, 'host.taken_of_lost', 'mean', 'at least', 0.5, 0, 'the CPU that others took explains at least half of the lost work'),
    ('cpu_starved', 2, 'host.cpu_steal_share', 'mean', 'times', 1.2, 0.2, 'the share of the CPUs that the hypervisor kept rose by 20 points or more'),
    ('cpu_starved', 2, 'host.others_cpu_share', 'mean', 'times', 1.2, 0.2, 'the share of the CPUs that others used rose by 20 points or more'),
    ('cpu_starved', -2, 'threads.queued_per_s', 'mean', 'falls to', 0.6, 0.2, 'threads of the server waited less for a CPU'),
    ('cpu_starved', -2, 'host.idle_share', 'mean', 'at least', 0.2, 0, 'at least a fifth of the CPUs was idle'),
    ('client_pause', 3, 'states.at_work', 'still mean', 'falls to', 0.2, 0.5, 'hardly a connection was at work in the server'),
    ('client_pause', 2, 'clients.in_flight', 'still mean', 'falls to', 0.2, 0, 'hardly a statement was in flight'),
    ('client_pause', 2, 'clients.cpu_per_s', 'still mean', 'falls to', 0.2, 0, 'the clients hardly used CPU'),
    ('client_pause', -2, 'states.at_work', 'still mean', 'at least', 0.5, 0, 'connections were at work in the server'),
    ('lock', 3, 'states.lock_share', 'max', 'at least', 0.5, 0, 'at least half of the clients waited for such a lock'),
    ('lock', 2, 'process.cpu_per_s', 'mean', 'falls to', 0.3, 0, 'the server hardly used CPU'),
    ('row_locks', 3, 'server.row_locks_awaited_share', 'max', 'at least', 0.5, 0, 'at least half of the clients waited for a row lock'),
    ('row_locks', 2, 'server.row_lock_wait_share', 'max', 'at least', 0.5, 0, 'waits for row locks took half of the time of the clients'),
    ('row_locks', 2, 'clients.retries_per_s', 'max', 'times', 3, 1, 'deadlocks and lock timeouts were retried'),
    ('checkpoint', 3, 'server.redo_file_waits_per_s', 'max', 'times', 2, 1, 'the log writer waited for space in the redo files'),
    ('checkpoint', 3, 'server.redo_is_full', 'mean', 'at least', 0.9, 0, 'the checkpoint age was at the limit at which writers wait'),
    ('checkpoint', 2, 'server.sync_flush_share', 'max', 'rises to', 0.5, 0.5, 'most of the pages written were flushed for a checkpoint'),
    ('checkpoint', 2, 'server.redo_full_share', 'max', 'rises to', 0.95, 0.1, 'the checkpoint age rose to 95 % of its limit or more'),
    ('checkpoint', 2, 'server.pages_flushed_sync_per_s', 'max', 'times', 2, 10, 'pages were flushed for a checkpoint'),
    ('checkpoint', 2, 'server.sync_flush_waits_per_s', 'max', 'times', 2, 1, 'threads waited for that flushing'),
    ('redo', 3, 'server.redo_waits_per_s', 'max', 'times', 2, 10, 'threads waited for space in the log buffer'),
    ('redo', 3, 'server.redo_flush_ms', 'max', 'times', 3, 5, 'an fsync of the redo log took at least 3 times as long'),
    ('redo', 2, 'server.redo_pending_fsyncs', 'mean', 'at least', 0.7, 0, 'an fsync of the redo log was under way most of the time'),
    ('redo', 2, 'device.flush_ms', 'max', 'times', 3, 5, 'flushes of the device took at least 3 times as long'),
    ('free_pages', 3, 'server.free_page_waits_per_s', 'max', 'times', 2, 1, 'threads waited for a free page'),
    ('free_pages', 3, 'server.single_page_searches_per_s', 'max', 'times', 2, 10, 'threads looked for single pages to flush'),
    ('free_pages', 2, 'server.free_share', 'min', 'at most', 0.01, 0, 'at most 1 % of the buffer pool was free'),
    ('doublewrite', 2, 'waits.doublewrite_share', 'max', 'at least', 0.2, 0, 'at least 20 % of the time waited was for its file or mutex'),
    ('purge', 3, 'server.purge_delay_us', 'max', 'at least', 1, 0, 'the server delayed statements'),
    ('purge', 2, 'threads.purge_share', 'mean', 'times', 2, 0.3, 'the share of purge in the CPU of the server rose by 30 points or more'),
    ('purge', 2, 'server.history_list_length', 'max', 'times', 10, 1000, 'the history list was at least 10 times as long'),
    ('storage', 3, 'device.is_stuck', 'mean', 'at least', 0.5, 0, 'requests were in flight, and none was completed'),
    ('storage', 3, 'process.blocked_threads', 'mean', 'times', 3, 0.8, 'threads of the server were blocked (state D)'),
    ('storage', 3, 'device.held_back', 'mean', 'at least', 1, 0, 'tasks waited for I/O or were blocked, and the device completed at most a tenth of its usual requests'),
    ('storage', 3, 'server.writes_stuck', 'mean', 'at least', 0.3, 0, 'a checkpoint was due, and not a page was written'),
    ('storage', 2, 'device.requests_per_s', 'mean', 'falls to', 0.1, 50, 'the device completed at most a tenth of its usual requests throughout'),
    ('storage', 2, 'device.request_ms', 'max', 'times', 3, 1, 'requests took at least 3 times as long'),
    ('storage', 2, 'host.io_some_pressed_s_per_s', 'mean', 'times', 1.5, 0.3, 'the share of time with tasks waiting for I/O rose by 30 points or more'),
    ('storage', -2, 'host.swapped_per_s', 'max', 'at least', 1000, 0, 'pages were swapped, which keeps a device busy'),
    ('memory', 3, 'host.swapped_per_s', 'max', 'at least', 100, 0, 'pages were swapped'),
    ('memory', 2, 'host.major_faults_per_s', 'max', 'times', 10, 100, 'page faults read from disk at least 10 times as often'),
    ('memory', 2, 'host.memory_some_pressed_s_per_s', 'mean', 'times', 2, 0.1, 'tasks waited for memory')
) rules(cause, points, measure, statistic, test, threshold, least, says)
UNION ALL
-- What the server does cannot be the reason where nothing was asked of it.
SELECT cause, -2, 'states.at_work', 'mean', 'falls to', 0.2, 0.5, 'hardly a connection was at work in the server'
FROM dip_causes WHERE cause NOT IN ('restart', 'client_pause', 'machine_paused')
