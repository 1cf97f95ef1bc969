"""What an option file may say, whatever the server."""

import pytest

from ibench_lib.configs.rules import Rules

RULES = Rules(
    flavour="mysql", release=(8, 0, 36), families=("mysql",), group="mysqld", groups=frozenset({"mysqld"}),
    decided=frozenset({"datadir"}), code=frozenset({"plugin_load"}), prefixes=("skip_", "loose_"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("value", "outside"),
    [
        ("/etc/passwd", True), ("~/x", True), ("../x", True), ("a/../b", True), ("ibdata1:12M;/x/ibdata2:1M", True),
        ("..", True), ("redo", False), ("a..b", False), ("1/2", False), ("ON", False), (None, False),
    ],
)  # fmt: skip
def test_a_path_that_leaves_the_servers_directory_is_outside(value: str | None, outside: bool) -> None:
    assert RULES.outside(value) is outside


def test_a_prefix_hides_no_option_that_is_refused_or_decided() -> None:
    names = ("skip_plugin_load", "loose_datadir", "skip_name_resolve", "sort_buffer_size")
    assert [RULES.bare(name) for name in names] == ["plugin_load", "datadir", *names[2:]]


def test_messages_name_the_server() -> None:
    assert RULES.server == "mysql 8.0.36"
