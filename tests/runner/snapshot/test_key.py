"""Which cells share a snapshot: those that agree on all that is on disk, and nobody else."""

from dataclasses import replace
from pathlib import Path

import pytest

from ibench_lib.configs.resolve import Option, ServerConfig
from ibench_lib.errors import ExperimentError
from ibench_lib.runner.snapshot.key import load_settings
from ibench_lib.runner.snapshot.sharing import LoadSettings
from ibench_lib.servers.build import Build
from ibench_lib.servers.remote import Access, Remote
from ibench_lib.workloads.insert_benchmark.options import Options, Setup
from ibench_lib.workloads.insert_benchmark.workload import WORKLOAD

pytestmark = pytest.mark.usefixtures("known")

BUILD = Build("b", "mariadb", "10.11.19-MariaDB", Path("/b"), ("/b/mariadbd",), "test")
OPTIONS = Options(benchmark="insert_benchmark", clients=2, steps=["l.i0", "l.x", "l.i1", "qr100"])
SETUP = Setup(name="tiny", l_i0_rows=1000, l_i1_rows=500, l_i2_rows=50, query_seconds=2.0)


def config(text: str) -> ServerConfig:
    pairs = (line.partition("=") for line in text.split())
    return ServerConfig(tuple(Option(key, value or None, "x.cnf:1") for key, _, value in pairs))


def settings(
    text: str = "", build: Build | Remote = BUILD, setup: Setup = SETUP, options: Options = OPTIONS, loaded: int = 2
) -> LoadSettings:
    steps = WORKLOAD.steps(options, setup, 1.0)[:loaded]
    key = WORKLOAD.load_key(options, steps)
    return load_settings(build, config(text), key, churned=any(step.churns for step in steps))


BASE = "innodb_buffer_pool_size=1G innodb_log_file_size=8G"


@pytest.mark.parametrize(
    "other",
    [
        "innodb_buffer_pool_size=2G innodb_log_file_size=8G",
        BASE + " innodb_max_purge_lag=50000 innodb_purge_threads=1",
        "innodb_buffer_pool_size=1G innodb_log_file_size=1G",
        BASE + " innodb_doublewrite=OFF",
        BASE + " innodb_doublewrite_pages=4",  # the server makes files of that size when it starts
        BASE + " innodb_page_size=16K innodb_strict_mode=ON innodb_file_per_table=1",  # the defaults, said aloud
        BASE + " max_connections=7 performance_schema_instrument=wait/%=ON",
        BASE + " loose_nobody_knows_it=1",
    ],
)
def test_what_leaves_nothing_on_disk_does_not_keep_cells_apart(other: str) -> None:
    assert settings(BASE).differing(settings(other)) == []
    assert settings(BASE).digest == settings(other).digest


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("innodb_page_size=8K", "innodb_page_size is 16384, there 8192"),
        ("innodb_file_per_table=OFF", "innodb_file_per_table is 1, there 0"),
        ("innodb_undo_tablespaces=3", "innodb_undo_tablespaces is 0, there 3"),
        ("skip_log_bin", "log_bin is not set, there 0"),
        ("innodb_strict_mode=OFF", "innodb_strict_mode is not set, there 0"),
        ("innodb_data_file_path=IBdata1:12M:autoextend", "innodb_data_file_path is ibdata1:12M:autoextend, there IB"),
    ],
)
def test_what_is_on_disk_or_what_nobody_has_thought_of_keeps_cells_apart_by_name(other: str, said: str) -> None:
    (difference,) = settings(BASE).differing(settings(f"{BASE} {other}"))
    assert difference.startswith(said)
    assert settings(BASE).digest != settings(f"{BASE} {other}").digest


def test_rows_seed_and_every_other_word_of_the_workload_count_but_not_later_steps_of_a_setup() -> None:
    assert settings(setup=SETUP.model_copy(update={"l_i1_rows": 7, "query_seconds": 60.0})).digest == settings().digest
    more = settings(setup=SETUP.model_copy(update={"l_i0_rows": 2000}))
    assert settings().differing(more) == ["step 0 rows is 1000, there 2000"]
    for edit in ({"seed": 2}, {"tables": "one"}, {"clients": 3}, {"data_length": [10, 30]}, {"protocol": "prepared"}):
        (difference,) = settings().differing(settings(options=OPTIONS.model_copy(update=edit)))
        assert difference.startswith("workload is ")


def test_after_a_step_that_deletes_every_option_counts() -> None:
    other = f"{BASE} innodb_purge_threads=1"
    assert settings(BASE).differing(settings(other)) == []
    (difference,) = settings(BASE, loaded=3).differing(settings(other, loaded=3))
    assert difference == "innodb_purge_threads is not set, there 1"
    older = replace(BUILD, version="10.11.5-MariaDB")
    assert settings().digest == settings(build=older).digest
    assert settings(loaded=3).differing(settings(build=older, loaded=3)) == [
        "server is mariadb 10.11.19-MariaDB, there mariadb 10.11.5-MariaDB"
    ]


@pytest.mark.parametrize(
    ("flavour", "first", "second", "together"),
    [
        ("mariadb", "10.11.5-MariaDB", "10.11.19-MariaDB-0+deb12u1", True),
        ("mariadb", "10.11.5-MariaDB", "11.4.5-MariaDB", False),
        ("mysql", "5.7.40", "5.7.44", True),
        ("mysql", "8.0.33", "8.0.36", False),  # it would refuse a later one's dictionary
        ("percona", "8.0.33-25", "8.0.33-25", True),
    ],
)
def test_servers_share_within_a_series_where_they_read_each_others_files(
    flavour: str, first: str, second: str, together: bool
) -> None:
    one, other = (
        settings(build=replace(BUILD, flavour=flavour, version=version, label=version))  # type: ignore[arg-type]
        for version in (first, second)
    )
    assert (one.digest == other.digest) is together
    if not together:
        assert [said.split()[0] for said in one.differing(other)] == ["server"]


def test_a_redo_log_that_a_server_cannot_make_anew_counts() -> None:
    old = replace(BUILD, flavour="mysql", version="5.5.62")
    assert settings(BASE, old).differing(settings(BASE.replace("8G", "4G"), old)) == [
        "innodb_log_file_size is 8589934592, there 4294967296"
    ]


def test_a_remote_server_and_files_beside_the_data_directory_are_refused() -> None:
    with pytest.raises(ExperimentError, match="build far is remote: snapshot_after copies data directories"):
        settings(build=Remote("far", "mariadb", "10.11.19-MariaDB", Access("db.lab", 3306, "ibench")))
    for place in ("/ssd", "../ssd"):
        with pytest.raises(ExperimentError, match=r"x\.cnf:1: innodb_doublewrite_dir=.*lies outside"):
            settings(f"innodb_doublewrite_dir={place}")
    with pytest.raises(ExperimentError, match="innodb_data_file_path"):
        settings("innodb_data_file_path=ibdata1:12M;/ssd/ibdata2:12M:autoextend")
