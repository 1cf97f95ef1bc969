import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ibench_lib.capture.options import CaptureOptions
from ibench_lib.capture.session import Capture
from ibench_lib.families.mysql.collectors.waits import Waits, differences, mutex_waits
from ibench_lib.families.mysql.connection import connect, pairs, rows
from ibench_lib.servers.build import Build
from tests.capture.scenes import Booted, Sink, clock, scene
from tests.waiting import until

OPTIONS = CaptureOptions(waits=True)
SYNC_ON = (
    "SELECT COUNT(*) FROM performance_schema.setup_instruments"
    " WHERE NAME LIKE 'wait/synch/mutex/%' AND ENABLED = 'YES' AND TIMED = 'YES'"
)


def test_mutex_waits_of_all_servers_and_locks_of_one_name_added_up() -> None:
    listed = [
        ("log0log.cc:907", "os_waits=1"),
        ("rwlock: log0log.cc:753", "waits=3"),
        ("mutex", "spins=10,waits=4,calls=7"),
        ("mutex", "spins=1,waits=2,calls=1"),
        ("other", "calls=7"),
    ]
    assert mutex_waits(listed) == {"log0log.cc:907": (1, None), "rwlock: log0log.cc:753": (3, None), "mutex": (6, None)}


def test_differences_leave_out_what_has_not_waited_or_was_reset() -> None:
    before = {"a": (5, 1.0), "b": (7, 2.0), "c": (9, 3.0), "m": (2, None)}
    now = {"a": (8, 1.5), "b": (7, 2.0), "c": (1, 0.1), "d": (2, 0.25), "m": (5, None)}
    assert differences(before, now) == [("a", 3, 0.5), ("d", 2, 0.25), ("m", 3, None)]


@pytest.fixture
def instrumented(build: Build, tmp_path: Path) -> Iterator[Booted]:
    server = Booted(build, tmp_path, "performance_schema=ON\n")
    try:
        yield server
    finally:
        server.box.close()


def test_waits_are_differences_and_instruments_are_as_before_afterwards(instrumented: Booted, tmp_path: Path) -> None:
    address = instrumented.address.arguments()
    with connect(address) as connection:
        variables = pairs(connection, "SHOW GLOBAL VARIABLES")
        on_before = rows(connection, SYNC_ON)
        watched, sink = scene(tmp_path, address, options=OPTIONS, variables=variables), Sink()
        collector, begin = Waits(watched, sink), time.monotonic()
        collector.open()
        collector.sample(10, clock(watched))
        assert sink["waits"] == [], "the first sample is the beginning"
        assert rows(connection, SYNC_ON) > on_before
        rows(connection, "CREATE DATABASE d")
        rows(connection, "CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=InnoDB")
        for number in range(50):
            rows(connection, f"INSERT INTO d.t VALUES ({number})")
        collector.sample(20, clock(watched))
        collector.close()
        took_s = time.monotonic() - begin
        assert rows(connection, SYNC_ON) == on_before
    timed = [row for row in sink["waits"] if row["source"] == "performance_schema"]
    kinds = {"/".join(row["event"].split("/")[:3]) for row in timed}
    assert {"wait/synch/mutex", "wait/io/file"} <= kinds
    assert all(row["waits"] > 0 and row["wait_s"] >= 0 and 0 < row["seconds"] <= took_s for row in timed)
    (warning,) = collector.warnings
    assert warning.endswith(
        "performance_schema instruments were switched on for `waits`: this run is not comparable with one without"
    )


def test_where_performance_schema_is_off_it_says_how_to_switch_it_on(running: Booted, tmp_path: Path) -> None:
    address = running.address.arguments()
    with connect(address) as connection:
        variables = pairs(connection, "SHOW GLOBAL VARIABLES")
    if variables["performance_schema"] == "ON":
        pytest.skip("this server has it on")
    watched, sink = scene(tmp_path, address, options=OPTIONS, variables=variables), Sink()
    with Capture(watched, sink, [Waits]) as capture:
        pass
    reason = capture.null_reasons()["waits.performance_schema"]
    assert reason == "performance_schema is OFF: put performance_schema=ON into my.cnf"


def test_without_privileges_it_is_unavailable_with_the_reasons(
    instrumented: Booted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Waits, "every_s", 1)
    with connect(instrumented.address.arguments()) as connection:
        rows(connection, "CREATE USER low@localhost IDENTIFIED BY 'pw'")
    address = {**instrumented.address.arguments(), "user": "low", "password": "pw"}
    with Capture(scene(tmp_path, address, options=OPTIONS), Sink(), [Waits]) as capture:
        until(lambda: "waits" in capture.null_reasons(), "there is a reason")
    reasons = capture.null_reasons()
    assert reasons["waits.performance_schema"].startswith("access denied: ")
    assert reasons["waits.innodb_mutex"].startswith("access denied: ") and "PROCESS" in reasons["waits.innodb_mutex"]
    assert reasons["waits.innodb_mutex"] in reasons["waits"]
