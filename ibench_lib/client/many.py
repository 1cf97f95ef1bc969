"""The load loop of a client process that serves many connections, such as terminals or requesters.

One thread waits for all sockets at once. It handles answers in the order in which it noticed them, so that connections
are served fairly. The time that an operation waits for this process, because it is busy with other connections, is part
of the response time, as is everything between sent and answered. It is also recorded as client lag, which shows whether
the clients were the limit. A role may pause between operations, as a terminal whose user thinks.
"""

from __future__ import annotations

import heapq
import resource
import time
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from ibench_lib.client.driver import Connection, ConnectionLost, StatementError, Steps
from ibench_lib.client.exchange import Exchange, exchange_of
from ibench_lib.client.load import Stopped, totals
from ibench_lib.client.recorder import OperationRecorder, SecondRecorder
from ibench_lib.client.role import Role, Transaction, next_operation

_LOOK_EVERY_NS = 250_000_000  # for a request to stop, and for a server that has gone silent
_NEVER = 1 << 63


@dataclass(eq=False, slots=True)
class Terminal:
    """One connection with its role and its current operation."""

    role: Role
    connection: Connection
    next: bytes | Transaction | None = None
    number: int = 0
    operation: bytes | Transaction = b""
    recorder: OperationRecorder = field(init=False)
    retries: int = 0
    free_ns: int = 0
    due_ns: int = 0
    begun_ns: int = 0
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
    _exchange: Exchange = field(init=False)
    _in_flight: dict[int, Terminal] = field(default_factory=dict, init=False)

    def run(self) -> dict[str, Any]:
        """Run to the end, as `Load.run` does. Returns the totals of table `workers`, with status and error."""
        before, asked_ns = resource.getrusage(resource.RUSAGE_SELF), self._asked_ns()
        self._exchange = exchange_of([terminal.connection for terminal in self.terminals])
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
        try:
            for number, terminal in enumerate(self.terminals):
                terminal.number = number
                self._release(terminal, self.start_ns)
            while (wait_ns := self.start_ns - time.monotonic_ns()) > 0:
                time.sleep(wait_ns / 1e9)
            self._serve()
        finally:
            self._exchange.close()
        if self.stop_requested:
            raise Stopped

    def _serve(self) -> None:
        """Begin operations, and see to those that have ended, until the step is over."""
        serve, in_flight, look_ns = self._exchange.serve, self._in_flight, self.start_ns + _LOOK_EVERY_NS
        while True:
            if self._free or self._pausing or not in_flight:
                self._begin_what_is_due()
                if not in_flight and (self._over or self.stop_requested):
                    return
            ended = serve(min(look_ns, self._due_ns()))
            now_ns = time.monotonic_ns()
            if now_ns > look_ns:  # by the clock: others may be busy while one is silent
                if now_ns - self._exchange.oldest_ns() > self.timeout_s * 1e9:
                    raise ConnectionLost(f"no answer within {self.timeout_s:g} s")
                look_ns = now_ns + _LOOK_EVERY_NS
            if ended is None:
                continue
            terminal = self.terminals[ended.number]
            terminal.lag_ns += ended.lag_ns
            if isinstance(ended.outcome, StatementError):
                self._again(terminal, ended.outcome)
            else:
                self._record(terminal, int(ended.outcome or 0))

    def _due_ns(self) -> int:
        """When there is something else to do than to handle answers."""
        if not self._over and self._pausing:
            return min(self._pausing[0][0], _NEVER if self.end_ns is None else self.end_ns)
        if self._over or self.tick_ns is None or not self._free:
            return _NEVER
        return self.start_ns + self._begun * self.tick_ns

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
        self._in_flight[terminal.number] = terminal
        self._exchange.start(terminal.number, _steps_of(operation))

    def _record(self, terminal: Terminal, rows: int) -> None:
        """The current operation has ended."""
        now_ns = time.monotonic_ns()
        ready_ns = terminal.begun_ns - terminal.lag_ns
        terminal.recorder.record(terminal.due_ns, ready_ns, terminal.begun_ns, now_ns, rows)
        del self._in_flight[terminal.number]
        if self.tick_ns is None:
            terminal.recorder.record_lag(terminal.lag_ns)
        self._release(terminal, now_ns)

    def _again(self, terminal: Terminal, error: StatementError) -> None:
        """Repeat an operation after an error that allows it, up to a limit."""
        now_ns = time.monotonic_ns()
        terminal.retries += 1
        if error.retry_reason is None or terminal.retries > terminal.role.max_retries:
            terminal.recorder.record_error(now_ns)
            del self._in_flight[terminal.number]
            raise error
        terminal.recorder.record_retry(now_ns, error.retry_reason)
        self._exchange.start(terminal.number, _steps_again(terminal.operation, terminal.connection.rollback))


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
