-- Facts that differ between any two runs and say nothing about how a server works: source and GLOB pattern as in
-- `fact_diff`, and the reason.
SELECT source, unnest(patterns) AS pattern, why
FROM (VALUES
    ('variable', ['server_uuid', 'server_uid', 'server_id', 'hostname', 'report_host'], 'who the server is'),
    ('variable', ['socket', 'port', 'mysqlx_socket', 'mysqlx_port', 'admin_port', 'extra_port', 'report_port'],
     'where it listens'),
    ('variable', ['basedir', 'plugin_dir', 'character_sets_dir', 'lc_messages_dir'], 'where its programs are'),
    ('variable', ['pid_file', 'log_error', 'general_log_file', 'slow_query_log_file', 'relay_log*', 'init_file',
                  'slave_load_tmpdir', 'replica_load_tmpdir'], 'where its own files are'),
    ('variable', ['gtid_executed', 'gtid_purged', 'gtid_owned', 'gtid_*_pos', 'gtid_*_state', 'timestamp',
                  'rand_seed*', 'last_insert_id', 'pseudo_thread_id'], 'changes while it runs'),
    ('host', ['disk_free_bytes'], 'different in each run')
) AS listed(source, patterns, why)
