"""The load loop of a client process that serves many connections, such as terminals or requesters.

One thread waits for all sockets at once. It handles answers in the order in which it noticed them, so that connections
are served fairly. The time that an operation waits for this process, because it is busy with other connections, is part
of the response time, as is everything between sent and answered. It is also recorded as client lag, which shows whether
the clients were the limit. A role may pause between operations, as a terminal whose user thinks.
"""

from __future__ import annotations

import heapq
import resource
import select
import time
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast

from ibench_lib.client.driver import Connection, ConnectionLost, StatementError
from ibench_lib.client.load import Stopped, totals
from ibench_lib.client.recorder import OperationRecorder, SecondRecorder
from ibench_lib.client.role import Query, Role, Several, Steps, Transaction, next_operation

_LOOK_EVERY_S = 0.25  # for a request to stop, and for a server that has gone silent
_LOOK_EVERY_NS = round(_LOOK_EVERY_S * 1e9)
_NEVER = 1 << 63
_DESCRIPTORS_OF_SELECT = 1024


@dataclass(eq=False, slots=True)
class Terminal:
    """One connection with its role and its current operation."""

    role: Role
    connection: Connection
    next: bytes | Transaction | None = None
    steps: Steps | None = None
    operation: bytes | Transaction = b""
    recorder: OperationRecorder = field(init=False)
    retries: int = 0
    free_ns: int = 0
    due_ns: int = 0
    begun_ns: int = 0
    sent_ns: int = 0
    lag_ns: int = 0


@dataclass
class ManyLoad:
    """One worker's part of a step, over all its connections.

    `statements` ends it after that many operations, `end_ns` at that time: nothing more is sent, and the loop waits for
    operations in flight. `tick_ns` is the interval of a paced worker's operations; the operation that is due goes to
    the connection that has been free for longest. `must_not_stop` is for signal handlers, as in `Load`.
    """

    terminals: list[Terminal]
    recorder: SecondRecorder
    start_ns: int
    statements: int | None
    end_ns: int | None
    tick_ns: int | None
    timeout_s: float
    must_not_stop: bool = field(default=True, init=False)
    stop_requested: bool = field(default=False, init=False)
    _begun: int = field(default=0, init=False)
    _over: bool = field(default=False, init=False)
    _free: deque[Terminal] = field(default_factory=deque, init=False)
    _pausing: list[tuple[int, int, Terminal]] = field(default_factory=list, init=False)  # a heap by end of the pause
    _pauses: count[int] = field(default_factory=count, init=False)
    _in_flight: dict[int, Terminal] = field(default_factory=dict, init=False)

    def run(self) -> dict[str, Any]:
        """Run to the end, as `Load.run` does. Returns the totals of table `workers`, with status and error."""
        before, asked_ns = resource.getrusage(resource.RUSAGE_SELF), self._asked_ns()
        self.recorder.begin()
        self.recorder.in_flight = lambda: ((one.recorder, one.begun_ns) for one in self._in_flight.values())
        status, error = "complete", None
        try:
            self._loop()
            for terminal in self.terminals:
                terminal.role.finish()
        except Stopped:
            status = "interrupted"
        except ConnectionLost as lost:
            status, error = "failed", f"connection lost: {lost}"
        except StatementError as refused:
            status, error = "failed", f"server answered {refused}"
        if error is not None:
            for terminal in self._in_flight.values():  # nobody waits for their answers any more
                terminal.recorder.record_unknown(time.monotonic_ns())
        roles = [terminal.role for terminal in self.terminals]
        asked_ns = self._asked_ns() - asked_ns
        return totals(self.recorder, roles, before, asked_ns, time.monotonic_ns(), status, error)

    def _asked_ns(self) -> int:
        return sum(terminal.connection.asked_ns for terminal in self.terminals)

    def _loop(self) -> None:
        with select.epoll() as epoll:
            by_descriptor = {}
            for terminal in self.terminals:
                by_descriptor[terminal.connection.fileno()] = terminal
                # Edge-triggered: an answer is noticed once, when it arrives, not again while it waits to be handled.
                epoll.register(terminal.connection.fileno(), select.EPOLLIN | select.EPOLLET)
                self._release(terminal, self.start_ns)
            while (wait_ns := self.start_ns - time.monotonic_ns()) > 0:
                time.sleep(wait_ns / 1e9)
            self._serve(epoll, by_descriptor)
        if self.stop_requested:
            raise Stopped

    def _serve(self, epoll: select.epoll, by_descriptor: dict[int, Terminal]) -> None:
        """Handle answers and begin operations until the step is over.

        What happens at each answer stands here and in `_send`, without further calls: they would take a tenth of the
        client's CPU.
        """
        noticed: deque[tuple[Terminal, int]] = deque()
        look_ns = self.start_ns + _LOOK_EVERY_NS
        # epoll waits for whole milliseconds, which would make paced operations late. select does not, but knows low
        # descriptors only.
        by_microseconds = [epoll] if epoll.fileno() < _DESCRIPTORS_OF_SELECT else []
        poll, clock, in_flight, most = epoll.poll, time.monotonic_ns, self._in_flight, len(by_descriptor)
        while True:
            if self._free or self._pausing or not in_flight:
                self._begin_what_is_due()
                if not in_flight and (self._over or self.stop_requested):
                    return
            wait_s = 0 if noticed else self._wait_s()
            if 0 < wait_s < _LOOK_EVERY_S and by_microseconds:
                select.select(by_microseconds, (), (), wait_s)
                wait_s = 0
            events = poll(wait_s, most)
            if events:
                now_ns = clock()
                for descriptor, _ in events:
                    noticed.append((by_descriptor[descriptor], now_ns))
            elif not noticed:
                now_ns = clock()
            if now_ns > look_ns:  # by the clock: others may be busy while one is silent
                self._look_for_silence()
                look_ns = now_ns + _LOOK_EVERY_NS
            if not noticed:
                continue
            terminal, noticed_ns = noticed.popleft()
            steps = terminal.steps
            try:
                answer = terminal.connection.arrived()
            except StatementError as error:
                self._again(terminal, error)
                continue
            if steps is None or answer is None:
                continue
            now_ns = clock()
            # An answer in two pieces is noticed twice; the second notice may be handled after the next command.
            terminal.lag_ns += now_ns - max(noticed_ns, terminal.sent_ns)
            try:
                command = steps.send(answer)
            except StopIteration as end:
                self._record(terminal, int(end.value or 0))
                continue
            except StatementError as error:
                self._again(terminal, error)
                continue
            _send(terminal, command)
            terminal.sent_ns = now_ns

    def _wait_s(self) -> float:
        """How long the loop has nothing to do except wait for an answer."""
        if not self._over and self._pausing:
            due_ns = min(self._pausing[0][0], _NEVER if self.end_ns is None else self.end_ns)
        elif self._over or self.tick_ns is None or not self._free:
            return _LOOK_EVERY_S
        else:
            due_ns = self.start_ns + self._begun * self.tick_ns
        return min(_LOOK_EVERY_S, max(0.0, (due_ns - time.monotonic_ns()) / 1e9))

    def _begin_what_is_due(self) -> None:
        """Give the operations that are due to free connections."""
        end_ns = _NEVER if self.end_ns is None else self.end_ns
        if self._pausing:
            self._wake(end_ns)
        while self._free and not self._over and not self.stop_requested:
            if self._begun == self.statements:
                self._over = True
                return
            now_ns = time.monotonic_ns()
            due_ns = now_ns if self.tick_ns is None else self.start_ns + self._begun * self.tick_ns
            if max(due_ns, now_ns) >= end_ns:
                self._over = True
                return
            if due_ns > now_ns:
                return
            self._begin(self._free.popleft(), due_ns)

    def _release(self, terminal: Terminal, free_ns: int) -> None:
        """A connection is free for its next operation, or pauses before it."""
        if terminal.role.pauses:
            if terminal.next is None:
                terminal.next = next_operation(terminal.role)
            heapq.heappush(self._pausing, (free_ns + terminal.role.pause_ns, next(self._pauses), terminal))
        else:
            terminal.free_ns = free_ns
            self._free.append(terminal)

    def _wake(self, end_ns: int) -> None:
        """Free the connections whose pause has ended. The step goes on to its end, also if all of them pause."""
        now_ns = time.monotonic_ns()
        while self._pausing and self._pausing[0][0] <= now_ns:
            _, _, terminal = heapq.heappop(self._pausing)
            # From now, not from the pause's end: who thinks does not notice when the kernel wakes this process late.
            terminal.free_ns = now_ns
            self._free.append(terminal)
        if now_ns >= end_ns:
            self._over = True

    def _begin(self, terminal: Terminal, due_ns: int) -> None:
        operation = next_operation(terminal.role) if terminal.next is None else terminal.next
        terminal.next = None
        terminal.operation = operation
        name = None if isinstance(operation, bytes) else operation.operation
        terminal.recorder = self.recorder.first if name is None else self.recorder.of(name)
        terminal.retries = 0
        terminal.begun_ns = time.monotonic_ns()
        terminal.due_ns = due_ns if self.tick_ns is not None else terminal.begun_ns
        could_ns = terminal.free_ns if self.tick_ns is None else max(due_ns, terminal.free_ns)
        terminal.lag_ns = terminal.begun_ns - could_ns
        self._begun += 1
        self._in_flight[terminal.connection.fileno()] = terminal
        self._start(terminal, _steps_of(operation))

    def _record(self, terminal: Terminal, rows: int) -> None:
        """The current operation has ended."""
        now_ns = time.monotonic_ns()
        terminal.steps = None
        ready_ns = terminal.begun_ns - terminal.lag_ns
        terminal.recorder.record(terminal.due_ns, ready_ns, terminal.begun_ns, now_ns, rows)
        del self._in_flight[terminal.connection.fileno()]
        if self.tick_ns is None:
            terminal.recorder.record_lag(terminal.lag_ns)
        self._release(terminal, now_ns)

    def _start(self, terminal: Terminal, steps: Steps) -> None:
        """Send the first command of an operation."""
        terminal.steps = steps
        _send(terminal, next(steps))
        terminal.sent_ns = time.monotonic_ns()

    def _again(self, terminal: Terminal, error: StatementError) -> None:
        """Repeat an operation after an error that allows it, up to a limit."""
        now_ns = time.monotonic_ns()
        terminal.retries += 1
        if error.retry_reason is None or terminal.retries > terminal.role.max_retries:
            terminal.recorder.record_error(now_ns)
            del self._in_flight[terminal.connection.fileno()]
            raise error
        terminal.recorder.record_retry(now_ns, error.retry_reason)
        self._start(terminal, _steps_again(terminal.operation, terminal.connection.rollback))

    def _look_for_silence(self) -> None:
        now_ns = time.monotonic_ns()
        for terminal in self._in_flight.values():
            if now_ns - terminal.sent_ns > self.timeout_s * 1e9:
                raise ConnectionLost(f"no answer within {self.timeout_s:g} s")


def _send(terminal: Terminal, command: bytes | Query | Several) -> None:
    if command.__class__ is Query:
        terminal.connection.begin(command.command, fetch=True, several=command.several)
    elif command.__class__ is Several:
        terminal.connection.begin(command.command, fetch=False, several=True)
    else:
        terminal.connection.begin(cast(bytes, command), fetch=False)


def _steps_of(operation: bytes | Transaction) -> Steps:
    return _statement(operation) if isinstance(operation, bytes) else operation.steps()


def _steps_again(operation: bytes | Transaction, rollback: bytes) -> Steps:
    if not isinstance(operation, bytes):  # a lock wait timeout rolls back a statement, and leaves its transaction open
        yield rollback
    return (yield from _steps_of(operation))


def _statement(command: bytes) -> Steps:
    answer = yield command
    assert isinstance(answer, int)
    return answer
