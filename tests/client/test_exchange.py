"""Operations of one connection and of several, over Python's exchange and over the compiled one of MySQL's wire."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

import pytest

from ibench_lib.client.compiled import CompiledExchange
from ibench_lib.client.driver import ROWS, SEVERAL, ConnectionLost, StatementError, Steps
from ibench_lib.client.exchange import Exchange, PythonExchange, transact
from ibench_lib.client.mysql.compiled import CompiledWire
from ibench_lib.client.mysql.connection_core import CORE
from ibench_lib.client.mysql.wire import LARGEST_PACKET, Wire
from tests.client.mysql.conftest import NEEDS_CORE
from tests.client.mysql.test_wire import DELETE_0, ERROR, INSERT_3, TEXT_3, packet, result, several
from tests.waiting import PATIENCE_S

COMMAND = b"\x03SELECT"
NEVER = 1 << 62


class Table:
    """Connections whose servers are the test itself."""

    def __init__(self, kind: str, open_sockets: ExitStack) -> None:
        self.kind, self._open = kind, open_sockets
        self.wires: list[Wire] = []
        self.servers: list[socket.socket] = []

    def seat(self, count: int) -> None:
        for _ in range(count):
            ours, theirs = socket.socketpair()
            self._open.enter_context(ours)
            self._open.enter_context(theirs)
            of_kind = CompiledWire if self.kind == "compiled" else Wire
            self.wires.append(of_kind(ours, deprecate_eof=False, timeout_s=PATIENCE_S))
            self.servers.append(theirs)

    def exchange(self, count: int) -> Exchange:
        self.seat(count)
        made: Exchange
        if self.kind == "compiled":
            module = CORE.used().module
            assert module is not None
            made = CompiledExchange(module, [wire for wire in self.wires if isinstance(wire, CompiledWire)])
        else:
            made = PythonExchange(self.wires)  # type: ignore[arg-type]
        self._open.callback(made.close)
        return made

    def run(self, steps: Steps) -> int:
        """One operation on a connection of its own."""
        if isinstance(self.wires[0], CompiledWire):
            return self.wires[0].transact(steps)
        return transact(self.wires[0], steps)  # type: ignore[arg-type]


@pytest.fixture(params=["python", pytest.param("compiled", marks=NEEDS_CORE)])
def table(request: pytest.FixtureRequest) -> Iterator[Table]:
    with ExitStack() as open_sockets:
        yield Table(request.param, open_sockets)


def three(answers: list[Any]) -> Steps:
    """Each kind of command once; the answers are noted."""
    answers.append((yield COMMAND))
    rows: Any = yield COMMAND, ROWS
    answers.append(list(rows))
    rows = yield COMMAND, ROWS | SEVERAL
    answers.append(len(rows))
    answers.append((yield COMMAND, SEVERAL))
    return 7


THREE_ROWS = [(b"1", b"x", b"2023-01-01 00:00:00"), (b"2", b"yy", None), (b"3", b"", b"2024-05-06 07:08:09")]
REPLIES = (INSERT_3, TEXT_3, several(TEXT_3, TEXT_3), several(INSERT_3, DELETE_0))
ANSWERS = [3, THREE_ROWS, 6, 3]


def reply(server: socket.socket, answer: bytes) -> None:
    """Take the command that is there and answer it."""
    server.settimeout(PATIENCE_S)
    assert server.recv(1 << 16)
    server.sendall(answer)


def test_each_kind_of_command_gets_its_answer_and_the_operation_its_result(table: Table) -> None:
    table.seat(1)
    answering = threading.Thread(target=lambda: [reply(table.servers[0], answer) for answer in REPLIES])
    answering.start()
    answers: list[Any] = []
    assert table.run(three(answers)) == 7
    answering.join()
    assert answers == ANSWERS


def test_several_connections_go_on_as_their_answers_arrive(table: Table) -> None:
    together, seen = table.exchange(3), [list[Any](), list[Any](), list[Any]()]
    for number in range(3):
        together.start(number, three(seen[number]))
    for answer in REPLIES:
        while len(select.select(table.servers, [], [], 0)[0]) < 3:  # all have sent the command that this one answers
            assert together.serve(time.monotonic_ns() + 1_000_000) is None
        for server in reversed(table.servers):
            reply(server, answer)
    ended = [together.serve(NEVER) for _ in range(3)]
    assert sorted((one.number, one.outcome) for one in ended if one) == [(0, 7), (1, 7), (2, 7)]
    assert seen == [ANSWERS] * 3
    assert together.oldest_ns() > time.monotonic_ns() + 10**12, "no answer is due any more"


@pytest.mark.parametrize("size", [1, 4, 5, 40])
def test_an_answer_in_pieces_of_any_size_is_put_together(table: Table, size: int) -> None:
    together, seen = table.exchange(1), list[Any]()
    together.start(0, three(seen))
    ended = None
    for answer in REPLIES:
        assert table.servers[0].recv(1 << 16)
        for begin in range(0, len(answer), size):
            table.servers[0].sendall(answer[begin : begin + size])
            ended = together.serve(0)
            while ended is None and begin + size >= len(answer) and answer is REPLIES[-1]:
                ended = together.serve(0)
    assert ended is not None and ended.outcome == 7 and seen == ANSWERS


def test_an_answer_of_more_than_the_room_for_one_is_read(table: Table) -> None:
    together, long = table.exchange(1), result([b"\xfd\x40\x9c\0" + b"x" * 40_000] * 5)
    seen: list[int] = []

    def steps() -> Steps:
        rows: Any = yield COMMAND, ROWS
        seen.extend(len(row[0]) for row in rows)
        return len(seen)

    together.start(0, steps())
    answering = threading.Thread(target=reply, args=(table.servers[0], long))
    answering.start()
    ended = together.serve(NEVER)
    answering.join()
    assert ended is not None and ended.outcome == 5 and seen == [40_000] * 5


def test_a_command_of_several_packets_is_sent_and_answered(table: Table) -> None:
    together, taken = table.exchange(1), list[int]()

    def serve() -> None:
        table.servers[0].settimeout(PATIENCE_S)
        wanted, there = LARGEST_PACKET + 8 + 10, 0
        while there < wanted:
            there += len(table.servers[0].recv(1 << 20))
        taken.append(there)
        table.servers[0].sendall(packet(2, INSERT_3[4:]))

    answering = threading.Thread(target=serve)
    answering.start()
    together.start(0, single(b"\x03" + bytes(LARGEST_PACKET + 9)))
    ended = together.serve(NEVER)
    answering.join()
    assert ended is not None and ended.outcome == 3 and taken == [LARGEST_PACKET + 18]


def single(command: bytes = COMMAND) -> Steps:
    answer: Any = yield command
    return int(answer)


def refuses() -> Steps:
    yield COMMAND
    raise StatementError("x", "the row is not there", "changed")


def test_an_error_ends_the_operation_and_not_the_connection(table: Table) -> None:
    together = table.exchange(2)
    for steps, answer, words in ((single(), ERROR, "Unknown column"), (refuses(), INSERT_3, "the row is not there")):
        together.start(0, steps)
        reply(table.servers[0], answer)
        ended = together.serve(NEVER)
        assert ended is not None and ended.number == 0
        assert isinstance(ended.outcome, StatementError) and words in str(ended.outcome)
        together.start(0, single())
        reply(table.servers[0], INSERT_3)
        ended = together.serve(NEVER)
        assert ended is not None and ended.outcome == 3


@pytest.mark.parametrize("is_busy", [True, False])
def test_a_connection_that_is_closed_is_lost(table: Table, is_busy: bool) -> None:
    together = table.exchange(2)
    together.start(0, single())
    if is_busy:
        table.servers[0].close()
    else:
        table.servers[1].close()
    with pytest.raises(ConnectionLost, match=r"closed the connection|reset by peer"):
        together.serve(NEVER)


def test_what_cannot_be_sent_is_a_connection_lost(table: Table) -> None:
    together = table.exchange(1)
    table.servers[0].close()
    with pytest.raises(ConnectionLost, match="Broken pipe"):
        together.start(0, single())


def test_it_returns_at_its_moment_and_knows_what_is_due_longest(table: Table) -> None:
    together, before_ns = table.exchange(2), time.monotonic_ns()
    together.start(0, single())
    between_ns = time.monotonic_ns()
    together.start(1, single())
    for wait_ns in (3_000_000, 30_000_000):
        until_ns = time.monotonic_ns() + wait_ns
        assert together.serve(until_ns) is None
        assert time.monotonic_ns() >= until_ns
    assert before_ns <= together.oldest_ns() <= between_ns
    reply(table.servers[0], INSERT_3)
    assert together.serve(NEVER) is not None
    assert together.oldest_ns() >= between_ns


def test_the_time_that_an_answer_waits_for_this_process_is_lag(table: Table) -> None:
    together, handling_s = table.exchange(2), 0.05

    def slow() -> Steps:
        answer: Any = yield COMMAND
        time.sleep(handling_s)
        return int(answer)

    together.start(0, slow())
    together.start(1, single())
    for server in table.servers:
        reply(server, INSERT_3)
    first, second = together.serve(NEVER), together.serve(NEVER)
    assert first is not None and second is not None
    assert {first.number, second.number} == {0, 1}
    if first.number == 0:
        assert second.lag_ns >= handling_s * 1e9
    begun_ns = time.monotonic_ns()
    together.start(0, single())
    reply(table.servers[0], INSERT_3)
    again = together.serve(NEVER)
    assert again is not None and again.lag_ns <= time.monotonic_ns() - begun_ns, "of this operation only"


class Asked(Exception):
    """Somebody asked this process to stop."""


def wait_for_many(table: Table) -> None:
    together = table.exchange(2)
    together.start(0, single())
    together.serve(time.monotonic_ns() + round(PATIENCE_S * 1e9))


def wait_for_moments(table: Table) -> None:
    """As the load waits between paced operations: never for long."""
    together = table.exchange(1)
    while True:
        together.serve(time.monotonic_ns() + 10_000_000)


def wait_for_one(table: Table) -> None:
    table.seat(1)
    table.run(single())


def wait_for_rows(table: Table) -> None:
    table.seat(1)
    table.wires[0].fetch(COMMAND)


def wait_for_the_rest(table: Table) -> None:
    table.seat(1)
    table.servers[0].sendall(TEXT_3[:-1])
    table.wires[0].execute(COMMAND)


def wait_for_room_to_send(table: Table) -> None:
    table.seat(1)
    table.wires[0].execute(b"\x03" + bytes(LARGEST_PACKET - 10))


@contextmanager
def another_thread(is_there: bool) -> Iterator[None]:
    """With another thread of Python, the core lets go of the interpreter while it waits."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    if is_there:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if is_there:
            thread.join()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("has_thread", [False, True])
@pytest.mark.parametrize(
    "wait",
    [wait_for_many, wait_for_moments, wait_for_one, wait_for_rows, wait_for_the_rest, wait_for_room_to_send],
)
def test_a_signal_ends_every_wait(
    table: Table, wait: Callable[[Table], None], has_thread: bool, number: signal.Signals
) -> None:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise Asked

    before = signal.signal(number, stop)
    # Again and again: a signal just before a system call does not end it.
    sender = subprocess.Popen(["sh", "-c", f"while sleep 0.05; do kill -s {number.name[3:]} {os.getpid()}; done"])
    try:
        with another_thread(has_thread), pytest.raises(Asked):
            wait(table)
    finally:
        signal.signal(number, signal.SIG_IGN)
        sender.kill()
        sender.wait()
        signal.signal(number, before)


def failing(error: Exception) -> Callable[[], Steps]:
    def steps() -> Steps:
        yield COMMAND
        raise error

    return steps


@pytest.mark.parametrize("error", [OSError("of the workload"), KeyError("row"), ConnectionLost("gone")])
def test_what_else_an_operation_raises_is_raised_as_it_is(table: Table, error: Exception) -> None:
    together = table.exchange(1)
    together.start(0, failing(error)())
    reply(table.servers[0], INSERT_3)
    with pytest.raises(type(error)) as raised:
        together.serve(NEVER)
    assert raised.value is error


def replies(server: socket.socket, answers: Sequence[bytes]) -> threading.Thread:
    answering = threading.Thread(target=lambda: [reply(server, answer) for answer in answers])
    answering.start()
    return answering


def test_a_single_connection_raises_what_the_server_and_the_operation_raise(table: Table) -> None:
    table.seat(1)
    for steps, answer, kind in (
        (single(), ERROR, StatementError),
        (failing(OSError("of the workload"))(), INSERT_3, OSError),
        (refuses(), INSERT_3, StatementError),
    ):
        answering = replies(table.servers[0], [answer])
        with pytest.raises(kind):
            table.run(steps)
        answering.join()
    table.servers[0].close()
    with pytest.raises(ConnectionLost):
        table.run(single())
