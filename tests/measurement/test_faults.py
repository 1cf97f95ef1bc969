"""Faults that a script brings about on the fake server, met by the real client processes and their step."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest

from ibench_lib.client import process
from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.mysql.wire import ConnectionLost
from ibench_lib.client.role import Role
from ibench_lib.errors import WorkerFailed
from ibench_lib.workloads.insert_benchmark.workers import CLIENT_MODULE, Worker
from tests.fakes.server import FakeServer, Script
from tests.measurement.harness import Observed, measure, plain, run, step, workers

pytestmark = pytest.mark.slow

COUNTS = ("ops", "rows", "errors", "retries", "unknown")


def counts(result: Observed, worker: int = 0) -> dict[str, int]:
    """Totals of a client; its seconds add up to them."""
    state = result.workers[worker]
    assert state.totals is not None
    totals = {name: state.totals[name] for name in COUNTS}
    assert totals == {name: sum(row[name] for row in result.seconds[worker]) for name in COUNTS}
    assert totals == {name: sum(counted[name] for counted in state.counted.values()) for name in COUNTS}
    assert sum(sum(row["service_counts"]) for row in result.seconds[worker]) == totals["ops"]
    return totals


@pytest.mark.parametrize(("fault", "tcp"), [("reset", True), ("close", False), ("half", True)])
@pytest.mark.fault("F9")
def test_f9_a_connection_that_breaks_in_mid_statement_is_unknown_and_nothing_is_repeated(fault: str, tcp: bool) -> None:
    what = step("l.i0", statements=100)
    with FakeServer(Script(faults={31: fault}, tcp=tcp)) as server:
        result = measure(server.address, what, plain())
        report = server.report()
    assert counts(result) == {"ops": 30, "rows": 30, "errors": 0, "retries": 0, "unknown": 1}
    assert report["statements"] == 31, "the one with an unknown outcome was sent once"
    assert report["connections"] == 1, "nobody connected again"
    assert isinstance(result.failure, WorkerFailed)
    assert "client 1 inserter: connection lost" in str(result.failure)


@pytest.mark.fault("F9")
def test_f9_the_real_inserter_sends_each_of_its_statements_once() -> None:
    what = step("l.i0", statements=50)
    client = Worker(client=1, role="inserter", operations=("insert",), table="pi1", probes=True)
    with FakeServer(Script(faults={22: "reset"}, tcp=True)) as server:
        result = run(server.address, what, [client], CLIENT_MODULE, timeout_s=10)
        texts = server.report()["texts"]
    assert counts(result) == {"ops": 19, "rows": 19, "errors": 0, "retries": 0, "unknown": 1}
    assert "dateandtime" in texts[0], "where the clock of the table stands"
    assert texts[1] == "SELECT min(transactionid) FROM pi1"
    inserts = texts[2:]
    assert len(inserts) == 20 and all(text.startswith("INSERT INTO pi1") for text in inserts)
    assert len(set(inserts)) == 20, "no row twice"


@pytest.mark.fault("F10")
def test_f10_a_black_hole_in_mid_step_ends_within_the_timeout() -> None:
    ended: list[float] = []
    what = step("l.i0", seconds=60.0, rate=50.0)
    with FakeServer(Script(faults={76: "silent"}, tcp=True)) as server:
        result = measure(
            server.address, what, plain(), timeout_s=1.0, on_start=lambda start_ns: ended.append(start_ns / 1e9)
        )
        took_s = time.monotonic() - ended[0]
    assert counts(result) == {"ops": 75, "rows": 75, "errors": 0, "retries": 0, "unknown": 1}
    assert isinstance(result.failure, WorkerFailed)
    assert "client 1 inserter: connection lost: no answer within 1 s" in str(result.failure)
    # The 76th statement is due after 1.5 s; the runner then watches for a second whether the server has died.
    assert 2.4 < took_s < 30, "far from the step's 60 s"
    unknown = [row["unknown"] for row in result.seconds[0]]
    assert len(unknown) >= 3 and unknown == [0] * (len(unknown) - 1) + [1]


@pytest.mark.fault("F10")
def test_f10_one_black_hole_ends_the_step_for_all_and_what_they_measured_is_kept() -> None:
    what = step("l.i0", seconds=60.0, rate=50.0)
    with FakeServer(Script(faults={76: "silent"})) as server:
        result = measure(server.address, what, plain(), plain(), timeout_s=1.0)
    states = sorted((state.totals or {}).get("status", "") for state in result.workers)
    assert states == ["failed", "interrupted"]
    totals = [counts(result, worker) for worker in (0, 1)]
    assert sorted(total["unknown"] for total in totals) == [0, 1]
    assert sum(total["ops"] for total in totals) >= 75


@pytest.mark.fault("F10")
def test_f10_a_black_hole_at_connect_ends_within_the_timeout() -> None:
    with FakeServer(Script(greet=False, tcp=True)) as server:
        begin = time.monotonic()
        with pytest.raises(ConnectionLost):
            Connection(server.address, None, timeout_s=1.0)
        assert time.monotonic() - begin < 30, "no connect waits for ever"
        what = step("l.i0", statements=10)
        begin = time.monotonic()
        result = run(server.address, what, workers(what, plain()), "tests.measurement.roles", 1.0)
        assert time.monotonic() - begin < 60
    assert result.start_ns is None
    assert "client 1 inserter" in str(result.failure)


@pytest.mark.fault("F10")
def test_f10_an_address_where_nobody_listens_is_an_error_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    address: dict[str, Any] = {"host": "127.0.0.1", "port": port, "user": "nobody", "password": ""}
    with pytest.raises(ConnectionLost):
        Connection(address, None, timeout_s=1.0)


@pytest.mark.parametrize("code", [1927, 1317])
@pytest.mark.fault("F11")
def test_f11_a_statement_that_the_server_kills_is_an_error_in_its_second(code: int) -> None:
    what = step("l.i0", seconds=60.0, rate=50.0)
    with FakeServer(Script(faults={61: f"killed {code}"})) as server:
        result = measure(server.address, what, plain())
        assert server.report()["statements"] == 61
    assert counts(result) == {"ops": 60, "rows": 60, "errors": 1, "retries": 0, "unknown": 0}
    # It is due after 1.2 s; on a busy machine it is late.
    errors = [row["errors"] for row in result.seconds[0]]
    assert len(errors) >= 2 and errors == [0] * (len(errors) - 1) + [1]
    assert f"client 1 inserter: server answered ({code})" in str(result.failure)


@pytest.mark.timing
@pytest.mark.fault("F12")
def test_f12_deadlocks_and_lock_waits_are_repeated_and_counted_in_their_seconds() -> None:
    # 50/s: the 61st, which is repeated twice, and the 121st statement are in seconds 1 and 2.
    faults = {61: "error 1213", 62: "error 1205", 123: "error 1205"}
    what = step("l.i0", seconds=3.0, rate=50.0)
    with FakeServer(Script(faults=faults)) as server:
        result = measure(server.address, what, plain())
        assert server.report()["statements"] == 153
    assert result.failure is None
    assert counts(result) == {"ops": 150, "rows": 150, "errors": 0, "retries": 3, "unknown": 0}
    assert [row["retries"] for row in result.seconds[0]] == [0, 2, 1]


@pytest.mark.fault("F12")
def test_f12_a_repeat_may_meet_an_error_of_another_kind() -> None:
    what = step("l.i0", statements=100)
    with FakeServer(Script(faults={31: "error 1213", 32: "error 1054", 33: "close"})) as server:
        result = measure(server.address, what, plain())
        assert server.report()["statements"] == 32
    assert counts(result) == {"ops": 30, "rows": 30, "errors": 1, "retries": 1, "unknown": 0}
    assert "client 1 inserter: server answered (1054)" in str(result.failure)


@pytest.mark.fault("F12")
def test_f12_a_repeat_that_is_lost_is_unknown() -> None:
    what = step("l.i0", statements=100)
    with FakeServer(Script(faults={31: "error 1213", 32: "close"})) as server:
        result = measure(server.address, what, plain())
        assert server.report()["statements"] == 32
    assert counts(result) == {"ops": 30, "rows": 30, "errors": 0, "retries": 1, "unknown": 1}


@pytest.mark.fault("F12")
def test_f12_repeats_are_bounded_and_then_the_step_fails() -> None:
    what = step("l.i0", statements=100)
    faults = dict.fromkeys(range(31, 31 + Role.max_retries + 5), "error 1213")
    with FakeServer(Script(faults=faults)) as server:
        result = measure(server.address, what, plain())
        assert server.report()["statements"] == 31 + Role.max_retries
    assert counts(result) == {"ops": 30, "rows": 30, "errors": 1, "retries": Role.max_retries, "unknown": 0}
    assert "client 1 inserter: server answered (1213)" in str(result.failure)


@pytest.mark.parametrize("pipe_bytes", [4096, process.PIPE_BYTES])
@pytest.mark.fault("F4")
def test_f4_a_runner_that_is_stopped_loses_no_second_or_says_that_clients_waited(
    pipe_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that cannot say what it has measured sends nothing; such a step is no result."""
    monkeypatch.setattr(process, "PIPE_BYTES", pipe_bytes)
    what = step("l.i0", seconds=12.0, rate=50.0)
    with FakeServer(Script()) as server:
        result = measure(server.address, what, plain(), on_start=lambda _: time.sleep(10))
    if pipe_bytes == 4096:
        assert "client 1 inserter may have waited for the runner, which read nothing for 1" in str(result.failure)
    else:
        assert result.failure is None
        assert counts(result)["ops"] == 600
