"""The real sysbench against a real server: what is counted is what the server has done, exactly."""

from __future__ import annotations

import os
import re
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.base.histogram_bins import lower_edge_us
from ibench_lib.client.mysql.connection import Connection
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from tests.waiting import PATIENCE_S
from tests.workloads.sysbench.place import Place

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("sysbench")]


def sums(rows: list[dict[str, Any]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in rows:
        found[row["operation"]] += row["ops"]
    return found


@pytest.mark.parametrize(
    ("test", "threads", "db_ps_mode"),
    [
        ("oltp_point_select", 1, "auto"), ("oltp_point_select", 3, "disable"), ("oltp_read_write", 2, "auto"),
        ("oltp_update_index", 2, "disable"), ("select_random_ranges", 1, "auto"),
    ],
)  # fmt: skip
def test_every_statement_that_the_server_has_executed_is_counted(
    place: Place, test: str, threads: int, db_ps_mode: str
) -> None:
    before = place.counted()
    driven, rows = place.drive(1, tests=[test], threads=[threads], db_ps_mode=db_ps_mode)
    after = place.counted()
    assert driven.error is None and driven.unread == 0, driven.warnings(2.0)
    grown = Counter({name: after[name] - before[name] for name in after})
    ops = sums(rows)
    assert ops["read"] == grown["Com_select"]
    assert ops["write"] == grown["Com_insert"] + grown["Com_update"] + grown["Com_delete"]
    assert ops["other"] == grown["Com_begin"] + grown["Com_commit"]
    events = [row for row in rows if row["operation"] == "transaction"]
    assert sum(sum(row["service_counts"]) for row in events) == ops["transaction"] > 0
    assert ops["transaction"] == (grown["Com_commit"] or ops["read"] or ops["write"])
    seconds = [row["second"] for row in events]
    assert seconds == sorted(set(seconds)) and seconds[-1] <= driven.seconds.end_s and driven.seconds.end_s >= 2.0


def test_a_server_that_stands_still_shows_in_the_times_since_an_event_was_due(place: Place) -> None:
    assert place.box.process is not None
    pid = place.box.process.pid

    def pause() -> None:
        time.sleep(0.5)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(1.2)
        os.kill(pid, signal.SIGCONT)

    driven, rows = place.drive(1, pause, tests=[{"test": "oltp_point_select", "rate": 100}])
    assert driven.error is None, driven.error
    longest = max(max(row["intended_bins"], default=0) for row in rows if row["operation"] == "transaction")
    assert lower_edge_us(longest + 1) >= 1e6
    assert all(row["service_bins"] is None for row in rows)
    shares = [share for share, why in driven.limits() if "become due" in why]
    assert all(share < 1 for share in shares), "those that wait for the server have become due: the client is not late"


def test_tables_whose_rows_were_deleted_are_prepared_again(place: Place) -> None:
    driven, _ = place.drive(1, tests=["oltp_delete"])
    assert driven.error is None, driven.error
    tables = (1, 2)
    assert sum(place.connection.scalar(f"SELECT COUNT(*) FROM sbtest{number}") for number in tables) < 1000
    driven, _ = place.drive(0)
    assert driven.error is None, driven.error
    assert [place.connection.scalar(f"SELECT COUNT(*) FROM sbtest{number}") for number in tables] == [500, 500]


def test_bulk_inserts_are_rows_of_its_own_tables_each_time_it_runs(place: Place) -> None:
    given: dict[str, Any] = {"tests": ["bulk_insert"], "threads": [3]}
    try:
        for _ in range(2):  # the second time there are rows that have to go
            driven, _rows = place.drive(0, **given)
            assert driven.error is None, driven.error
            before = place.counted()
            driven, rows = place.drive(1, **given, seconds=1.0)
            after = place.counted()
            assert driven.error is None and driven.unread == 0, driven.error
            ops = sums(rows)
            stored = sum(place.connection.scalar(f"SELECT COUNT(*) FROM sbtest{number}") for number in (1, 2, 3))
            assert ops["transaction"] == stored > 0
            assert driven.program.rows_by_table() == {"bulk_insert.t3": stored}
            assert ops["write"] == after["Com_insert"] - before["Com_insert"] >= 3
    finally:
        place.drive(0)
        place.connection.query("DROP TABLE sbtest3")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"tests": [{"test": "oltp_read_only", "options": {"no-such": 1}}]}, r"exit 1 after .*: '.*no-such=1'"),
        (
            {"tests": [{"test": "oltp_read_write", "rate": 10_000_000}]},
            r"line \d+: the server could not keep up with 10,000,000 transactions/s: sysbench's queue of them is"
            r" full after second \d: 'FATAL: The event queue is full.*'",
        ),
        ({"threads": [400]}, r"exit 1 after .* s: .FATAL: .*error 1040: Too many connections'.*"),
    ],
)
def test_what_sysbench_refuses_is_one_line(place: Place, given: dict[str, Any], why: str) -> None:
    driven, _ = place.drive(1, **given)
    assert driven.error and "\n" not in driven.error
    assert re.fullmatch(why, driven.error), driven.error


def test_a_server_that_is_lost_ends_it_and_what_was_captured_stays(place: Place, build: Build, tmp_path: Path) -> None:
    (tmp_path / "my.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=64M\nskip_log_bin\n")
    box = Sandbox(build, tmp_path / "box", tmp_path / "my.cnf", tmp_path / "log")
    with box as address:
        assert box.process is not None
        connection = Connection(address.arguments(), None, PATIENCE_S)
        connection.query("CREATE DATABASE b")
        other = Place(box, address.arguments(), connection)
        other.drive(0)
        pid = box.process.pid

        def kill() -> None:
            time.sleep(1.4)
            os.kill(pid, signal.SIGKILL)

        driven, rows = other.drive(1, kill)
    assert driven.error is not None and driven.error.startswith("exit 1 after "), driven.error
    assert sums(rows)["transaction"] > 0 and {row["second"] for row in rows} <= {0, 1}
