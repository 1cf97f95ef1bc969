"""Settings of a load for tests."""

DEFAULTS = {
    "innodb_page_size": "16384",
    "innodb_file_per_table": "TRUE",
    "innodb_undo_tablespaces": "0",
    "innodb_io_capacity": "200",
    "innodb_strict_mode": "TRUE",
    "innodb_purge_threads": "4",
    "innodb_data_file_path": "ibdata1:12M:autoextend",
}
NAMES = frozenset(DEFAULTS) | {
    *("innodb_buffer_pool_size", "innodb_doublewrite", "innodb_log_file_size", "innodb_max_purge_lag", "log_bin"),
    *("innodb_doublewrite_dir", "innodb_doublewrite_pages", "performance_schema_instrument", "max_connections"),
}
