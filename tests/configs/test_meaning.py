"""A configuration is checked by the real server before a run, and compared with it after the start."""

from pathlib import Path

import pytest

from ibench_lib.configs.meaning import KnownOptions, differences, differences_of_builds, meaning, not_in_force
from ibench_lib.configs.resolve import complete, resolve
from ibench_lib.errors import ConfigError
from ibench_lib.paths import Workspace
from ibench_lib.servers.accepts import check
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import rules_of
from ibench_lib.servers.variables import known_options
from tests.command import ibench, refused
from tests.configs.resolved import config


@pytest.mark.fault("F19")
def test_f19_unknown_variables_are_all_named_with_file_line_and_version(build: Build, tmp_path: Path) -> None:
    lines = ["innodb_bufer_pool_size=1G", "max_connections=10", "no_such_thing", "loose_innodb_of_the_future=3"]
    with pytest.raises(ConfigError) as caught:
        check(build, config(tmp_path, build, *lines))
    assert "innodb_bufer_pool_size, no_such_thing" in caught.value.what
    assert build.version in caught.value.what
    assert (caught.value.detail or "").splitlines() == [
        f"f.cnf:2: innodb_bufer_pool_size is unknown to {build.flavour} {build.version}; "
        "did you mean innodb_buffer_pool_size?",
        f"f.cnf:4: no_such_thing is unknown to {build.flavour} {build.version}",
    ]
    assert caught.value.exit_code == 2
    assert check(build, config(tmp_path, build, *lines[1::2])) == ["f.cnf:3: loose_innodb_of_the_future"]


def test_forms_that_servers_accept_are_known(build: Build, tmp_path: Path) -> None:
    lines = [
        "skip_log_bin",
        "skip-name-resolve",
        "disable-slow-query-log",
        "enable_slow_query_log",
        "maximum_sort_buffer_size=4M",
    ]
    assert check(build, config(tmp_path, build, *lines)) == []
    known = known_options(build)
    found = [meaning(option, known) for option in config(tmp_path, build, *lines).options]
    assert found[:4] == [
        ("log_bin", "OFF"),
        ("skip_name_resolve", "ON"),
        ("slow_query_log", "OFF"),
        ("slow_query_log", "ON"),
    ]


def test_what_the_server_has_changed_is_told_and_nothing_else(build: Build, tmp_path: Path) -> None:
    asked = config(
        tmp_path, build, "innodb_io_capacity=1", "innodb_buffer_pool_size=1G", "skip_log_bin", "slow_query_log",
        "performance_schema_instrument=stage/%=OFF",
    )  # fmt: skip
    variables = {
        "innodb_io_capacity": "100",
        "innodb_buffer_pool_size": "1073741824",
        "log_bin": "OFF",
        "slow_query_log": "ON",
    }
    assert not_in_force(asked, known_options(build), variables) == [
        "innodb_io_capacity: asked 1 (f.cnf:2), the server uses 100"
    ]


def test_a_diff_goes_by_meaning_and_knows_the_defaults(build: Build, tmp_path: Path) -> None:
    first = config(tmp_path, build, "innodb-buffer-pool-size=1G", "max_connections=151", "skip_log_bin", name="a")
    second = config(tmp_path, build, "innodb_buffer_pool_size=1073741824", "innodb_io_capacity=500", name="b")
    (found,) = differences(first, second, known_options(build))
    assert (found.name, found.first, found.second, found.default) == ("innodb_io_capacity", None, "500", "200")
    assert (found.first_origin, found.second_origin) == (None, "b.cnf:3")
    path = tmp_path / "prod.cnf"
    path.write_text("[server]\ninnodb_io_capacity=500\n")
    assert differences(second, complete(path, rules_of(build), 1.0), known_options(build))[0].first == "1073741824"


def test_a_diff_of_two_builds_has_what_is_in_force_on_each(build: Build, tmp_path: Path) -> None:
    """A default that one of them has is compared with what is set for the other, and with the other's default."""
    common = {"innodb_io_capacity": "200", "max_connections": "151", "table_open_cache": "400", "tmpdir": "/tmp/a"}
    old = common | {"innodb_log_files_in_group": "2", "query_cache_size": "0"}
    new = common | {"max_connections": "1000", "innodb_redo_log_capacity": "104857600", "tmpdir": "/tmp/b"}
    known = (KnownOptions(frozenset(old), old), KnownOptions(frozenset(new), new))
    first = config(
        tmp_path, build, "innodb_io_capacity=2k", "innodb_log_files_in_group=32", "loose_innodb_redo_log_capacity=1G",
        name="a",
    )  # fmt: skip
    second = config(tmp_path, build, "innodb_io_capacity=2048", "table_open_cache=2000", name="b")
    found = {
        name: ((a.value, a.origin), (b.value, b.origin)) for name, a, b in differences_of_builds(first, second, known)
    }
    assert found == {
        "innodb_log_files_in_group": (("32", "a.cnf:3"), (None, "not known")),
        "innodb_redo_log_capacity": ((None, "not known"), ("104857600", "default")),
        "max_connections": (("151", "default"), ("1000", "default")),
        "table_open_cache": (("400", "default"), ("2000", "b.cnf:3")),
    }
    assert differences_of_builds(first, first, (known[0], known[0])) == []


def test_a_diff_of_two_builds_is_printed_with_the_build_of_each(workspace: Workspace) -> None:
    """Here both are one build; its options are those that it lists."""
    twice = ["--build", "system", "--build", "system"]
    same = ibench(workspace, "config", "diff", "cy10a", "cy10a", *twice)
    assert (same.returncode, same.stdout.strip()) == (0, "cy10a on system and cy10a on system have the same settings")
    changed = ibench(workspace, "config", "diff", "cy10a", "cy10a+a13", *twice)
    rows = [line.split() for line in changed.stdout.splitlines()]
    (row,) = [row for row in rows if row[0] == "innodb_max_purge_lag"]
    assert row[1:3] == ["0", "default"] and row[4].startswith("a13"), row
    refused(ibench(workspace, "config", "diff", "a", "b", *twice, *twice), "--build is given more than twice")


@pytest.mark.parametrize(
    ("delta", "gone"),
    [
        ("a10", ["innodb_page_cleaners"]),
        ("a18", ["innodb_buffer_pool_instances", "innodb_page_cleaners"]),
        ("a22", ["innodb_page_cleaners"]),
    ],
)
def test_deltas_that_a_newer_mariadb_cannot_have_name_exactly_what_is_gone(
    build: Build, delta: str, gone: list[str]
) -> None:
    if build.flavour != "mariadb" or build.release < (10, 6, 0):
        pytest.skip("about MariaDB 10.6 and later; tests/builds/ has the others")
    with pytest.raises(ConfigError, match="does not know " + ", ".join(gone) + "\n"):
        check(build, resolve(["cy10a", delta], rules_of(build), 0.002))


@pytest.mark.parametrize("delta", ["a2", "a7", "a12", "a13", "a17", "a19", "a20", "a21", "p1", "p2", "lag"])
def test_the_other_deltas_are_taken_by_this_machines_server(build: Build, delta: str) -> None:
    assert check(build, resolve(["cy10a", delta], rules_of(build), 0.002)) == []
