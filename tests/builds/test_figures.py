"""Which column of server_samples each build cannot fill, and why; and that what it fills means what it should.

Needs the builds of test_builds.py.
"""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.capture.options import CaptureOptions
from ibench_lib.capture.session import Capture
from ibench_lib.families.mysql.collectors.server_counters import ServerCounters
from ibench_lib.families.mysql.collectors.thread_states import ThreadStates
from ibench_lib.families.mysql.collectors.waits import Waits
from ibench_lib.families.mysql.connection import connect, pairs, rows
from ibench_lib.paths import workspace as project
from ibench_lib.server_figures import FIGURES
from ibench_lib.servers.sandbox import Sandbox
from tests.builds.test_builds import distribution, installed
from tests.capture.scenes import Sink, scene
from tests.waiting import until

pytestmark = pytest.mark.registries

MY_CNF = """[mysqld]
innodb_buffer_pool_size=24M
innodb_flush_log_at_trx_commit=2
"""
REDO_5 = "innodb_log_file_size=48M\ninnodb_log_files_in_group=2\n"
ROWS = {
    column: f"this server has no status Innodb_{column}" for column in ("rows_inserted", "rows_deleted", "rows_read")
}
NO_LIMIT = {"checkpoint_age_limit_bytes": "this server has no status Innodb_checkpoint_max_age"}
NO_SYNC = {"checkpoint_age_sync_bytes": "this server has no metric log_max_modified_age_sync"}
NO_FILE_WAITS = {"redo_file_waits": "this server has no metric log_writer_on_file_space_waits"}
NO_LOG_FSYNCS = {"redo_fsyncs": "this server has no status Innodb_os_log_fsyncs"}
NO_SINGLE = {"single_page_searches": "this server has no metric buffer_LRU_single_flush_num_scan"}
NO_LOOPS = {"free_page_loops": "this server has no metric buffer_LRU_get_free_loops"}
NO_LRU = {
    "pages_flushed_lru": "this server has no metric buffer_LRU_batch_flush_total_pages",
    "pages_evicted_lru": "this server has no metric buffer_LRU_batch_evict_total_pages",
}
NO_FLUSH_TIME = {"redo_flush_ms": "this server has no metric log_flush_total_time"}
NO_PENDING = {"redo_pending_fsyncs": "this server has no status Innodb_os_log_pending_fsyncs"}
MARIADB_10_6 = {
    **ROWS, **NO_SYNC, **NO_FILE_WAITS, **NO_LOG_FSYNCS, **NO_SINGLE, **NO_FLUSH_TIME, **NO_PENDING
}  # fmt: skip
MANY_ROWS, LARGE_AGE = 1000, 10_000  # which the load inserts, and bytes of redo that it writes between two checkpoints
NULL = {
    "mysql-5.6.24": {**NO_LIMIT, **NO_FILE_WAITS, **NO_LOOPS, **NO_LRU, **NO_FLUSH_TIME},
    "mysql-9.7": {**NO_LIMIT},
    "mariadb-10.1.23": {**NO_FILE_WAITS, **NO_LOOPS, **NO_FLUSH_TIME},
    "mariadb-10.11": MARIADB_10_6,
    "mariadb-11.4.5": MARIADB_10_6,
}


@pytest.fixture(params=list(NULL))
def label(request: pytest.FixtureRequest) -> Iterator[str]:
    label: str = request.param
    if label == "mariadb-10.11" and distribution() != label:
        pytest.skip("this machine's apt has another MariaDB")
    yield label


def load(address: dict[str, Any], stop: threading.Event, number: int) -> None:
    """Insert, read and delete until told to stop, each statement a transaction: more than the buffer pool holds."""
    with connect(address, 60) as connection:
        wide = "x" * 2000
        low = 0
        while not stop.is_set():
            values = ", ".join(f"(UUID(), '{wide}')" for _ in range(20))
            rows(connection, f"INSERT INTO d.pi{number} (u, w) VALUES {values}")
            rows(connection, f"SELECT COUNT(*) FROM d.pi{number} WHERE u > UUID() AND w > ''")
            low += 10
            rows(connection, f"DELETE FROM d.pi{number} WHERE a < {low}")


def test_each_build_fills_what_it_can_and_says_why_not(label: str, tmp_path: Path) -> None:
    build = installed(label)
    my_cnf = tmp_path / "my.cnf"
    my_cnf.write_text(MY_CNF + (REDO_5 if label in ("mysql-5.6.24", "mariadb-10.1.23") else ""))
    sink, stop = Sink(), threading.Event()
    with Sandbox(build, tmp_path / "box", my_cnf, tmp_path / "log", templates=project().datadirs) as where:
        address = where.arguments()
        with connect(address) as connection:
            rows(connection, "CREATE DATABASE d")
            for number in (1, 2):
                rows(
                    connection,
                    f"CREATE TABLE d.pi{number} (a INT PRIMARY KEY AUTO_INCREMENT, u CHAR(36), w VARCHAR(2000),"
                    " KEY (u)) ENGINE=InnoDB DEFAULT CHARSET=latin1",
                )
            variables = pairs(connection, "SHOW GLOBAL VARIABLES")
            # Not a figure: to hold the checkpoint age against.
            rows(connection, "SET GLOBAL innodb_monitor_enable = 'log_lsn_last_checkpoint'")
        threads = [threading.Thread(target=load, args=(address, stop, number)) for number in (1, 2)]
        with Capture(scene(tmp_path, address), sink, [ServerCounters, ThreadStates]) as capture:
            for thread in threads:
                thread.start()
            try:
                until(lambda: is_loaded(sink), "the load is seen in twelve samples", every_s=0.5)
            finally:
                stop.set()
            for thread in threads:
                thread.join()
            time.sleep(1.2)
        alone(sink, capture, address, tmp_path)
    # The loads name their tables with the database, and use none.
    assert {row["connections"] for row in sink["thread_states"]} == {0}
    samples = [row for row in sink["server_samples"] if row["questions"] is not None]
    last = samples[-1]
    null = {figure.column for figure in FIGURES if last[figure.column] is None}
    reasons = {name.removeprefix("server_samples."): why for name, why in capture.null_reasons().items()}
    assert {column: reasons.get(column) for column in null} == NULL[label]
    means_what_it_should(label, samples, sink, variables)


def is_loaded(sink: Sink) -> bool:
    """Whether the samples show what `means_what_it_should` looks for, however slow the machine is."""
    samples = [row for row in sink["server_samples"] if row["questions"] is not None]
    if len(samples) < 12:
        return False
    inserted = [row["rows_inserted"] for row in (samples[0], samples[-1])]
    return (
        (None in inserted or inserted[1] - inserted[0] > MANY_ROWS)
        and max(row["history_list_length"] for row in samples) > 0
        and max(row["checkpoint_age_bytes"] or 0 for row in samples) > LARGE_AGE
    )


def test_an_age_that_the_server_has_not_set_yet_is_null(tmp_path: Path) -> None:
    my_cnf = tmp_path / "my.cnf"
    my_cnf.write_text(MY_CNF + REDO_5)
    box = Sandbox(installed("mysql-5.6.24"), tmp_path / "box", my_cnf, tmp_path / "log", templates=project().datadirs)
    with box as where:
        address, sink = where.arguments(), Sink()
        collector = ServerCounters(scene(tmp_path, address), sink)
        for tick in (1, 2):
            collector.sample(tick, lambda tick=tick: tick + 0.1)  # type: ignore[misc]
        assert [row["checkpoint_age_bytes"] for row in sink["server_samples"]] == [None, None]
        assert "sets it only when it next writes redo" in collector.null_reasons["server_samples.checkpoint_age_bytes"]
        assert "log_lsn_checkpoint_age" not in {row["name"] for row in sink["server_counters"]}
        with connect(address) as connection:
            rows(connection, "SET GLOBAL innodb_monitor_enable = 'log_lsn_last_checkpoint'")
            rows(connection, "CREATE DATABASE d")
            rows(connection, "CREATE TABLE d.t (a INT) ENGINE=InnoDB")
        collector.sample(3, lambda: 3.1)
        collector.close()
    told = {row["name"]: row["value"] for row in sink["server_counters"]}
    age = sink["server_samples"][-1]["checkpoint_age_bytes"]
    assert age == told["log_lsn_checkpoint_age"] == told["log_lsn_current"] - told["log_lsn_last_checkpoint"] > 0


LISTED = {"mysql-5.6.24": True, "mysql-9.7": True, "mariadb-10.1.23": True, "mariadb-11.4.5": False}


@pytest.mark.parametrize("label", list(LISTED))
def test_show_engine_innodb_mutex_counts_waits_where_the_server_has_them(label: str, tmp_path: Path) -> None:
    """Mutexes of MySQL 5.7 and later only while `latch` is on, which the collector switches on and off."""
    my_cnf = tmp_path / "my.cnf"
    my_cnf.write_text(MY_CNF + "performance_schema=OFF\n")
    sink, stop = Sink(), threading.Event()
    box = Sandbox(installed(label), tmp_path / "box", my_cnf, tmp_path / "log", templates=project().datadirs)
    with box as where:
        address = where.arguments()
        with connect(address) as connection:
            rows(connection, "CREATE DATABASE d")
            rows(connection, "CREATE TABLE d.t (a INT PRIMARY KEY AUTO_INCREMENT, b CHAR(200)) ENGINE=InnoDB")
            variables = pairs(connection, "SHOW GLOBAL VARIABLES")
        watched = scene(tmp_path, address, options=CaptureOptions(waits=True), variables=variables)
        collector = Waits(watched, sink)
        collector.open()
        collector.sample(1, lambda: 1.1)

        def insert() -> None:
            with connect(address, 60) as connection:
                while not stop.is_set():
                    rows(connection, "INSERT INTO d.t (b) VALUES (REPEAT('x', 200))")

        def waited() -> bool:
            ticks.append(len(ticks) + 2)
            collector.sample(ticks[-1], lambda: ticks[-1] + 0.1)
            return bool(sink["waits"])

        ticks: list[int] = []
        threads = [threading.Thread(target=insert) for _ in range(8)]
        for thread in threads:
            thread.start()
        time.sleep(5)
        try:
            waited()
            if LISTED[label]:
                until(waited, "threads wait for a mutex", every_s=1)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        collector.close()
    assert bool(sink["waits"]) == LISTED[label]
    assert ("waits.innodb_mutex" in collector.null_reasons) == (not LISTED[label])
    assert {row["wait_s"] for row in sink["waits"]} <= {None}
    assert collector.null_reasons["waits.performance_schema"].startswith("performance_schema is OFF")


def alone(sink: Sink, capture: Capture, address: dict[str, Any], tmp_path: Path) -> None:
    """Fsyncs of a commit are in `data_fsyncs`; the redo log sequence number grows with what is written."""
    quiet = Sink()
    collector = ServerCounters(scene(tmp_path, address), quiet)
    collector.sample(1, lambda: 1.1)
    with connect(address) as connection:
        rows(connection, "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
        rows(connection, "CREATE TABLE d.one (a INT PRIMARY KEY, b CHAR(200)) ENGINE=InnoDB")
        for number in range(100):
            rows(connection, f"INSERT INTO d.one VALUES ({number}, REPEAT('x', 200))")
    collector.sample(2, lambda: 2.1)
    collector.close()
    before, after = quiet["server_samples"]
    assert after["data_fsyncs"] - before["data_fsyncs"] >= 90, "those of the redo log are among them"
    if after["redo_fsyncs"] is not None:
        assert 90 <= after["redo_fsyncs"] - before["redo_fsyncs"] <= after["data_fsyncs"] - before["data_fsyncs"]
    assert after["redo_lsn_bytes"] - before["redo_lsn_bytes"] >= 100 * 200
    assert after["redo_written_bytes"] - before["redo_written_bytes"] >= 100 * 200


def means_what_it_should(label: str, samples: list[dict[str, Any]], sink: Sink, variables: dict[str, str]) -> None:
    """Cumulative ones never fall; what is now stays within its bounds; the load is seen."""
    first, last = samples[0], samples[-1]
    for figure in FIGURES:
        values = [row[figure.column] for row in samples]
        if figure.counts_up and None not in values:
            assert values == sorted(values), figure.column
    for column in ("questions", "pages_read", "pages_written", "redo_written_bytes", "free_page_searches"):
        assert last[column] > first[column], column
    if last["rows_inserted"] is not None:
        assert last["rows_inserted"] - first["rows_inserted"] > MANY_ROWS
    assert last["pages"] * 16384 == pytest.approx(24 << 20, rel=0.45)
    assert all(0 <= row["dirty_pages"] + row["free_pages"] <= row["pages"] + 64 for row in samples)
    assert max(row["history_list_length"] for row in samples) > 0
    capacity = last["redo_capacity_bytes"]
    assert capacity == 96 << 20 if "innodb_redo_log_capacity" not in variables else 100 << 20
    order = ("checkpoint_age_async_bytes", "checkpoint_age_sync_bytes", "checkpoint_age_limit_bytes")
    limits = [last[column] for column in order if last[column] is not None]
    assert limits == sorted(limits) and 0.5 * capacity < limits[0] and limits[-1] < capacity
    ages = [row["checkpoint_age_bytes"] for row in samples]
    if label == "mysql-5.6.24":  # not set before the load begins, see above
        ages = ages[next(place for place, age in enumerate(ages) if age is not None) :]
    assert None not in ages
    assert max(ages) > LARGE_AGE
    assert all(age < capacity for age in ages)
    ages_add_up(samples, sink)


def ages_add_up(samples: list[dict[str, Any]], sink: Sink) -> None:
    """The checkpoint age is what lies between the log's end and its last checkpoint."""
    at: dict[int, dict[str, int]] = {}
    current: dict[str, int] = {}
    for row in sorted(sink["server_counters"], key=lambda row: row["tick"]):
        current[row["name"].lower()] = row["value"]
        at[row["tick"]] = dict(current)
    compared = 0
    for row in samples:
        for end, checkpoint in (
            ("innodb_lsn_current", "innodb_lsn_last_checkpoint"),
            ("innodb_redo_log_current_lsn", "innodb_redo_log_checkpoint_lsn"),
            ("log_lsn_current", "log_lsn_last_checkpoint"),
        ):
            told = at.get(row["tick"], {})
            if row["checkpoint_age_bytes"] is None:
                continue
            if end in told and checkpoint in told:
                # Statuses and metrics are read some milliseconds apart, with the load going on.
                assert row["checkpoint_age_bytes"] == pytest.approx(told[end] - told[checkpoint], abs=1 << 20)
                assert row["redo_lsn_bytes"] == pytest.approx(told[end], abs=1 << 20)
                compared += 1
    assert compared >= sum(row["checkpoint_age_bytes"] is not None for row in samples) > 10
