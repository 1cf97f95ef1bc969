"""The loop of many connections, with connections that answer at once."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from ibench_lib.client import exchange
from ibench_lib.client.driver import CHANGED, StatementError, Steps
from ibench_lib.client.many import ManyLoad, Terminal
from ibench_lib.client.recorder import OperationRecorder, SecondRecorder
from ibench_lib.client.role import Role, Transaction, TransactionRole

PAUSE_NS = 30_000_000
HANDLING_S = 0.5


class Echo:
    """Stands for a connection: the answer to a command is there when the command is sent."""

    asked_ns = 0
    rollback = b"ROLLBACK"

    def __init__(self) -> None:
        self.near, self.far = socket.socketpair()
        self.sent_ns: list[int] = []
        self.answered_ns: list[int] = []

    def fileno(self) -> int:
        return self.near.fileno()

    def begin(self, command: bytes, *, fetch: bool, several: bool = False) -> None:
        self.sent_ns.append(time.monotonic_ns())
        self.far.send(b"1")

    def arrived(self) -> int:
        self.answered_ns.append(time.monotonic_ns())
        return len(self.near.recv(1))


class Pausing(Role):
    def __init__(self, pause_ns: int | None) -> None:
        self.pauses, self.pause_ns = pause_ns is not None, pause_ns or 0

    def next_statement(self) -> bytes:
        return b"SELECT 1"


def loaded(
    connections: list[Echo], pause_ns: int | None, statements: int | None, seconds: float | None
) -> tuple[ManyLoad, int, list[dict[str, Any]]]:
    """A load, the start of its step, and the rows of its seconds."""
    start_ns, rows = time.monotonic_ns(), list[dict[str, Any]]()
    recorder = SecondRecorder(start_ns, paced=False, emit=rows.append, operations=("query",))
    places = [Terminal(Pausing(pause_ns), each) for each in connections]  # type: ignore[arg-type]
    end_ns = None if seconds is None else start_ns + round(seconds * 1e9)
    return ManyLoad(places, recorder, start_ns, statements, end_ns, None, 60.0), start_ns, rows


def test_a_connection_pauses_before_each_operation_and_that_is_part_of_no_response() -> None:
    connections = [Echo(), Echo(), Echo()]
    load, start_ns, rows = loaded(connections, PAUSE_NS, 30, None)
    totals = load.run()
    assert totals["status"] == "complete" and totals["ops"] == 30
    for connection in connections:
        assert len(connection.sent_ns) == len(connection.answered_ns)
        free_ns = [start_ns, *connection.answered_ns]
        waited = [sent - free for sent, free in zip(connection.sent_ns, free_ns, strict=False)]
        assert waited and min(waited) >= PAUSE_NS
    # However slow the machine is: a response cannot take what the pauses have taken.
    service_ns = 1e3 * sum(row["service_sum_us"] for row in rows)
    assert service_ns <= 3 * (totals["end_ns"] - start_ns) - 30 * PAUSE_NS


@pytest.mark.timing
def test_a_pause_is_no_lag_of_the_client() -> None:
    load, _, _ = loaded([Echo(), Echo()], PAUSE_NS, 30, None)
    assert load.run()["client_lag_p99_us"] < PAUSE_NS / 1e3


def test_a_step_lasts_to_its_end_also_if_all_connections_pause() -> None:
    load, start_ns, rows = loaded([Echo(), Echo()], 3_600_000_000_000, None, 0.2)
    totals = load.run()
    assert totals["status"] == "complete" and totals["ops"] == 0
    assert totals["end_ns"] >= start_ns + 200_000_000
    assert rows and not sum(row["ops"] for row in rows)


def test_connections_that_pause_stop_when_they_are_asked_to() -> None:
    load, _, _ = loaded([Echo(), Echo()], 3_600_000_000_000, None, 3600.0)
    load.stop_requested = True
    assert load.run()["status"] == "interrupted"


class Scripted(Echo):
    """A connection whose peer answers nothing by itself. `answer` is called where an answer is read."""

    def __init__(self, answer: Callable[[], int]) -> None:
        super().__init__()
        self.answer = answer

    def begin(self, command: bytes, *, fetch: bool, several: bool = False) -> None:
        self.sent_ns.append(time.monotonic_ns())

    def arrived(self) -> int:
        self.near.recv(1)
        return self.answer()


def test_one_silent_connection_is_noticed_while_another_one_is_busy() -> None:
    silent, busy = Scripted(lambda: 1), Echo()
    load, start_ns, _ = loaded([silent, busy], None, None, 3600.0)
    load.timeout_s = 0.3
    totals = load.run()
    assert totals["status"] == "failed" and "no answer within 0.3 s" in totals["error"]
    assert len(busy.sent_ns) > 1
    assert totals["end_ns"] - start_ns < 3600e9


def test_what_others_have_in_flight_when_one_is_refused_has_an_unknown_outcome() -> None:
    refused = Scripted(lambda: raise_(StatementError(1062, "Duplicate entry")))
    silent = Scripted(lambda: 1)
    load, _, _ = loaded([silent, refused], None, None, 3600.0)
    refused.far.send(b"1")
    totals = load.run()
    assert totals["status"] == "failed" and "1062" in totals["error"]
    assert (totals["errors"], totals["unknown"]) == (1, 1)


def raise_(error: Exception) -> int:
    raise error


class Torn(Echo):
    """Its first answer comes in two pieces, the second one when `more` is called. To handle it takes HANDLING_S."""

    def more(self) -> None:
        self.far.send(b"2")

    def arrived(self) -> int | None:  # type: ignore[override]
        if not self.near.recv(2).endswith(b"2") and len(self.sent_ns) == 1:
            return None
        if len(self.sent_ns) == 1:
            time.sleep(HANDLING_S)
        return 1


class Telling(Echo):
    """Tells another connection to answer when it handles its own first answer."""

    def __init__(self, other: Torn) -> None:
        super().__init__()
        self.other = other

    def arrived(self) -> int:
        if len(self.sent_ns) == 1:
            self.other.more()
        return super().arrived()


def test_lag_is_no_longer_than_its_operation_also_after_an_answer_that_is_noticed_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second notice of a torn answer is handled when the next command has been sent and answered."""
    torn = Torn()
    load, _, _ = loaded([Telling(torn), torn], None, 4, None)
    took: list[int] = []
    lags: list[int] = []
    record, record_lag = OperationRecorder.record, OperationRecorder.record_lag

    def spied(one: OperationRecorder, due_ns: int, ready_ns: int, sent_ns: int, answered_ns: int, rows: int) -> None:
        took.append(answered_ns - sent_ns)
        record(one, due_ns, ready_ns, sent_ns, answered_ns, rows)

    def spied_lag(one: OperationRecorder, lag_ns: int) -> None:
        lags.append(lag_ns)
        record_lag(one, lag_ns)

    monkeypatch.setattr(OperationRecorder, "record", spied)
    monkeypatch.setattr(OperationRecorder, "record_lag", spied_lag)
    assert load.run()["ops"] == 4 == len(took) == len(lags)
    # Of the torn one's second operation, which is the third of all.
    assert lags[2] - took[2] < HANDLING_S * 1e9


class Repeated(TransactionRole):
    """Each transaction finds once that rows do not go together, and takes that for a change by another one."""

    begun = 0

    def next_transaction(self) -> Transaction:
        return Surprised(self)


class Surprised:
    operation = "query"

    def __init__(self, role: Repeated) -> None:
        self.role, self.surprised = role, False

    def steps(self) -> Steps:
        self.role.begun += 1
        yield b"SELECT 1"
        if not self.surprised:
            self.surprised = True
            raise StatementError(CHANGED, "the row is not there", CHANGED)
        return 1


def test_a_transaction_may_take_an_answer_for_an_error_that_allows_a_repeat() -> None:
    start_ns, rows, role = time.monotonic_ns(), list[dict[str, Any]](), Repeated()
    recorder = SecondRecorder(start_ns, paced=False, emit=rows.append, operations=("query",))
    connection = Echo()
    load = ManyLoad([Terminal(role, connection)], recorder, start_ns, 5, None, None, 60.0)  # type: ignore[arg-type]
    totals = load.run()
    assert (totals["status"], totals["ops"], totals["retries"]) == ("complete", 5, 5)
    assert role.begun == 10 and sum(row["changed"] for row in rows) == 5


def test_paced_operations_are_waited_for_by_microseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """epoll alone would round each wait up to a millisecond."""
    waits, wait = list[float](), exchange.select.select

    def noted(*given: Any) -> Any:
        waits.append(given[3])
        return wait(*given)

    monkeypatch.setattr(exchange.select, "select", noted)
    for _ in range(20):
        if waits:
            break  # else it had no CPU for these 20 ms, and was late for all of them
        start_ns, rows = time.monotonic_ns(), list[dict[str, Any]]()
        recorder = SecondRecorder(start_ns, paced=True, emit=rows.append, operations=("query",))
        load = ManyLoad([Terminal(Pausing(None), Echo())], recorder, start_ns, 50, None, 400_000, 60.0)  # type: ignore[arg-type]
        totals = load.run()
        assert (totals["status"], totals["ops"]) == ("complete", 50)
    assert waits and max(waits) <= 0.0004
    assert totals["end_ns"] >= start_ns + 49 * 400_000
