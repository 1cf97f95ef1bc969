"""Operations of several commands: each answer goes to the operation, whose next command goes to the server.

Here they run over what every driver's connection has. A driver may bring the same at less cost: a connection with a
method `transact`, and with a method `exchange` that makes an `Exchange` of connections like itself.
"""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from ibench_lib.client.driver import ROWS, SEVERAL, Answer, Connection, StatementError, Steps, Yielded

_NEVER = 1 << 63
_COARSE_S = 0.02  # epoll waits for whole milliseconds, which would make paced operations late
_LONGEST_WAIT_S = 1.0
_DESCRIPTORS_OF_SELECT = 1024


class Ended(NamedTuple):
    """An operation of an exchange has ended.

    `number` is that of its connection. `lag_ns` is how long its answers waited for this process. `outcome` is what its
    steps returned, or the error.
    """

    number: int
    lag_ns: int
    outcome: Any


class Exchange(Protocol):
    """Operations of several connections, at most one of each, in one thread.

    Answers are handled in the order in which they were noticed, so that connections are served fairly.
    """

    def start(self, number: int, steps: Steps) -> None:
        """Send the first command of an operation. Raises as `driver.Connection.begin`."""

    def serve(self, until_ns: int) -> Ended | None:
        """Go on up to a moment on CLOCK_MONOTONIC, or until an operation has ended. Raises ConnectionLost."""

    def oldest_ns(self) -> int:
        """When the command was sent that has been due longest. A moment that never comes if none is due."""

    def close(self) -> None:
        """Wait for nothing any more."""


def transaction_runner(connection: Connection) -> Callable[[Steps], int]:
    """What runs operations on a connection, one at a time, and returns what each one returned."""
    own: Callable[[Steps], int] | None = getattr(connection, "transact", None)
    return own or (lambda steps: transact(connection, steps))


def transact(connection: Connection, steps: Steps) -> int:
    """Run one operation to its end. Raises as `driver.Connection.query`, and what the operation raises."""
    answer: Answer = None
    try:
        while True:
            command, fetch, several = parts_of(steps.send(answer))
            if fetch:
                answer = connection.fetch(command, several=several)
            else:
                answer = connection.execute_several(command) if several else connection.execute(command)
    except StopIteration as end:
        return int(end.value or 0)


def exchange_of(connections: Sequence[Connection]) -> Exchange:
    """The exchange of these connections' own driver, or Python's."""
    own: Callable[[Sequence[Connection]], Exchange | None] | None = getattr(connections[0], "exchange", None)
    return (own and own(connections)) or PythonExchange(connections)


def parts_of(yielded: Yielded) -> tuple[bytes, bool, bool]:
    """The command that an operation has yielded, whether its rows are read, and whether it has several statements."""
    if isinstance(yielded, tuple):
        command, marks = yielded
        return command, bool(marks & ROWS), bool(marks & SEVERAL)
    return yielded, False, False


class _Line:
    """One connection."""

    __slots__ = ("connection", "lag_ns", "number", "sent_ns", "steps")

    def __init__(self, number: int, connection: Connection) -> None:
        self.number, self.connection = number, connection
        self.steps: Steps | None = None
        self.sent_ns = self.lag_ns = 0


class PythonExchange(Exchange):
    """An `Exchange` of any connections. Its methods are described there."""

    def __init__(self, connections: Sequence[Connection]) -> None:
        self._lines = [_Line(number, connection) for number, connection in enumerate(connections)]
        self._by_descriptor = {line.connection.fileno(): line for line in self._lines}
        self._noticed: deque[tuple[_Line, int]] = deque()
        self._epoll = select.epoll()
        for descriptor in self._by_descriptor:
            # Edge-triggered: an answer is noticed once, when it arrives, not again while it waits to be handled.
            self._epoll.register(descriptor, select.EPOLLIN | select.EPOLLET)
        # select waits for microseconds, but knows low descriptors only.
        self._by_microseconds = [self._epoll] if self._epoll.fileno() < _DESCRIPTORS_OF_SELECT else []

    def start(self, number: int, steps: Steps) -> None:
        line = self._lines[number]
        line.steps, line.lag_ns = steps, 0
        _send(line.connection, next(steps))
        line.sent_ns = time.monotonic_ns()

    def serve(self, until_ns: int) -> Ended | None:
        # What happens at each answer stands here, without further calls: they would take a tenth of the client's CPU.
        noticed, by_descriptor, most = self._noticed, self._by_descriptor, len(self._lines)
        poll, clock = self._epoll.poll, time.monotonic_ns
        while True:
            wait_s = 0 if noticed else min(max(0.0, (until_ns - clock()) / 1e9), _LONGEST_WAIT_S)
            if 0 < wait_s < _COARSE_S and self._by_microseconds:
                select.select(self._by_microseconds, (), (), wait_s)
                wait_s = 0
            events = poll(wait_s, most)
            if events:
                now_ns = clock()
                for descriptor, _ in events:
                    noticed.append((by_descriptor[descriptor], now_ns))
            elif not noticed:
                if clock() >= until_ns:
                    return None
                continue
            line, noticed_ns = noticed.popleft()
            steps = line.steps
            try:
                answer = line.connection.arrived()
                if steps is None or answer is None:
                    continue
                now_ns = clock()
                # An answer in two pieces is noticed twice; the second notice may be handled after the next command.
                line.lag_ns += now_ns - max(noticed_ns, line.sent_ns)
                command = steps.send(answer)
            except StopIteration as end:
                line.steps = None
                return Ended(line.number, line.lag_ns, end.value)
            except StatementError as error:
                line.steps = None
                return Ended(line.number, line.lag_ns, error)
            _send(line.connection, command)
            line.sent_ns = now_ns
            if now_ns >= until_ns:
                return None

    def oldest_ns(self) -> int:
        return min((line.sent_ns for line in self._lines if line.steps is not None), default=_NEVER)

    def close(self) -> None:
        self._epoll.close()


def _send(connection: Connection, yielded: Yielded) -> None:
    command, fetch, several = parts_of(yielded)
    connection.begin(command, fetch=fetch, several=several)
