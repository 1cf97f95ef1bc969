"""Option files of others: what decides the speed of a server is kept, and nothing that may name a host or a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibench_lib.importers.lines import LineBlocks
from ibench_lib.importers.option_files import is_option_file, kept_options


def kept(text: str) -> tuple[list[str], int]:
    """The options that are kept, and how many lines were lost."""
    blocks = LineBlocks(Path("my.cnf"), [text.encode()])
    return kept_options(blocks).splitlines(), blocks.lost.count


def test_numbers_sizes_switches_and_words_are_kept_in_the_order_of_their_names() -> None:
    text = """# of alice, db7.example.com
[mysqld]
sync-binlog = 1
innodb_buffer_pool_size=32G   # of 64
innodb_flush_method = O_DIRECT
innodb_log_file_size = 2G
tls_version = TLSv1.2
log-bin = /data/alice/binlog
binlog_row_image = MINIMAL
skip-name-resolve
sql_mode = STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION

[client]
max_allowed_packet = 1G
"""
    assert kept(text) == (
        [
            "[mysqld]", "binlog_row_image=MINIMAL", "innodb_buffer_pool_size=32G", "innodb_flush_method=O_DIRECT",
            "innodb_log_file_size=2G", "log_bin", "skip_name_resolve",
            "sql_mode=STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION", "sync_binlog=1",
        ],
        0,
    )  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "user = alice", "bind-address = 10.0.0.7", "report_host = db7.example.com", "datadir = alice", "port = 3307",
        "log_error = x.log", "innodb_data_home_dir = d", "character_set_server = /home/alice", "server_uuid = a-b-c",
        "init_connect = SET", "wsrep_cluster_address = gcomm", "general_log_file = alice", "ft_stopword_file = f",
        "time_zone = db7.example.com", "collation_server = alice@db7", "innodb_directories = '/a;/b'", "plugin_load=x",
        "character_set_server = alice", "ssl_key = k", "master_host = h", "authentication_policy = p",
        "max_connections = 1 or more", "alice",
    ],
)  # fmt: skip
def test_what_may_name_a_host_a_person_or_a_path_is_not_kept(line: str) -> None:
    assert kept(f"[mysqld]\n{line}\n") == ([], 0)


def test_lines_that_are_no_option_are_lost() -> None:
    assert kept("[mysqld]\nInnoDB is fast\n!includedir /etc/alice\nback_log = 3500\nback_log = 35") == (
        ["[mysqld]", "back_log=3500"], 3,
    )  # fmt: skip
    assert kept("back_log = 3500\n") == ([], 0), "it is of no server"


def test_an_option_file_has_a_section_of_a_server_and_nothing_but_options() -> None:
    assert is_option_file("# of alice\n[client]\nport = 1\n[mysqld]\r\n!includedir /etc\nback_log = 1\r\nskip-x\ncut")
    assert is_option_file("[mariadb-10.11]\nback_log = 1 # one\n")
    for other in ("", "[mysqld]\n", "back_log = 1\n", "[client]\nport = 1\n", "[mysqld]\nback_log = 1\nNo option\n"):
        assert not is_option_file(other)
