"""Which values of the variables of somebody's server may be kept."""

from __future__ import annotations

import pytest

from ibench_lib.families.mysql.saved_output import described, is_variable, kept


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("back_log", "3500"), ("long_query_time", "10.000000"), ("optimizer_trace_offset", "-1"),
        ("performance_schema", "ON"), ("log_bin", "ON"), ("have_symlink", "DISABLED"), ("init_connect", ""),
        ("innodb_flush_method", "O_DIRECT"), ("transaction_isolation", "REPEATABLE-READ"),
        ("sql_mode", "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"), ("innodb_change_buffering", "none"),
        ("optimizer_switch", "index_merge=on,mrr=off"), ("collation_server", "utf8mb4_0900_ai_ci"),
        ("default_storage_engine", "InnoDB"), ("thread_handling", "one-thread-per-connection"),
        ("slave_transaction_retry_errors", "1158,1159,2013"), ("innodb_file_per_table", "ON"),
        ("innodb_data_file_path", "ibdata1:12M:autoextend"), ("innodb_undo_directory", "./"),
        ("tls_version", "TLSv1.2,TLSv1.3"), ("version_ssl_library", "OpenSSL 3.0.13 30 Jan 2024"),
        ("character_set_connection", "utf8mb4"), ("rocksdb_write_policy", "write_committed"),
        ("build_id", "1c4df707db841554abe48b4c722b40b9d25eaffd"), ("default_password_lifetime", "0"),
        ("version", "12.1.2-MariaDB-ubu2404-log"), ("version_comment", "mariadb.org binary distribution"),
        ("version_comment", "Percona Server (GPL), Release 7, Revision 9a19f1fd"), ("key_buffer_size", "8388608"),
        ("rocksdb_default_cf_options", "write_buffer_size=128m;block_based_table_factory={cache_index=1}"),
    ],
)  # fmt: skip
def test_numbers_switches_and_words_of_the_server_are_kept(name: str, value: str) -> None:
    assert kept(name, value) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("report_host", "db7"), ("report_user", "alice"), ("report_password", "5551234"), ("port", "3307"),
        ("server_id", "1007"), ("bind_address", "10.0.0.7"), ("socket", "/home/alice/my.sock"), ("ssl_key", "k"),
        ("ssl_ca", "ca.pem"), ("general_log_file", "alice.log"), ("relay_log", "db7-relay-bin"),
        ("wsrep_node_name", "DB7"), ("wsrep_cluster_name", "PROD"), ("init_connect", "SET"), ("log_error", "stderr"),
        ("tmpdir", "tmp"), ("binlog_do_db", "alice"), ("default_master_connection", "alice"),
        ("innodb_data_home_dir", "alice"), ("innodb_data_file_path", "/alice/ibdata1:12M"),
        ("innodb_ft_aux_table", "alice/t"), ("time_zone", "Europe/Rome"), ("spider_remote_server", "alice"),
        ("s3_access_key", "AKIA"), ("s3_host_name", "alice"), ("authentication_ldap_simple_server_host", "10"),
        ("group_replication_group_seeds", "db7:33061"),
        ("group_replication_group_name", "7aef2991-1e83-11f1-a08b-ac1f6bc8457b"), ("secret_key", "55"),
        ("gtid_executed", "7aef2991-1e83-11f1-a08b-ac1f6bc8457b:1-5"), ("mandatory_roles", "alice"),
        ("optimizer_switch", "alice@db7"), ("rocksdb_wal_dir", "alice"), ("an_unknown_plugin_option", "alice"),
        ("rocksdb_strict_collation_exceptions", "alice"),
    ],
)  # fmt: skip
def test_what_may_tell_a_host_a_person_a_path_or_a_secret_is_masked(name: str, value: str) -> None:
    assert kept(name, value) == "<masked>"


def test_words_of_a_version_that_no_maker_uses_are_masked() -> None:
    assert kept("version", "8.0.36-alice") == "8.0.36-<masked>"
    assert kept("version_comment", "MySQL built by alice on db7") == "MySQL <masked> by <masked> <masked> <masked>"
    assert kept("version", 300 * "8.") == kept("version", "8.0\u20ac") == "<masked>"


def test_a_name_has_an_underscore_or_is_known() -> None:
    assert is_variable("innodb_version") and is_variable("port") and is_variable("validate_password.length")
    assert not is_variable("none") and not is_variable("utf8mb4")


def test_servers_of_others_are_not_described() -> None:
    assert described({"version": "8.4.8", "version_comment": "MySQL"}) == "Ver 8.4.8 MySQL"
    assert described({"version": "8.4.8"}) is None and described({"version_comment": "MySQL"}) is None
    assert described({"version": "5.7.25-OceanBase seekdb-v1.2.0.0", "version_comment": "x"}) is None
    assert described({"version": "8.0.11-TiDB-v7.5.0", "version_comment": "TiDB Server (Apache License 2.0)"}) is None
