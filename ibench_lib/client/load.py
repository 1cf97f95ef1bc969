"""The load loop of a client process: pace, send, check, record.

Rate-limited operations have absolute deadlines, start + n * tick, which are never moved: after a stall, the client
catches up. Service time is sent to answered, intended time due to answered. Client lag is the part of a delay that the
client causes: from the time when it could have sent (it was due, the last answer had arrived, its partner was ready) to
the time when it sent.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, cast

from ibench_lib.client.coupling import Coupling
from ibench_lib.client.driver import Connection, ConnectionLost, StatementError
from ibench_lib.client.exchange import transaction_runner
from ibench_lib.client.histogram import quantile_us
from ibench_lib.client.recorder import OperationRecorder, SecondRecorder
from ibench_lib.client.role import Role, Transaction, TransactionRole

_NEVER = 1 << 63


class Stopped(Exception):
    """The parent asked this worker to stop while no operation was in flight."""


@dataclass
class Load:
    """One worker's part of a step.

    `statements` ends it by count, `end_ns` by time. `tick_ns` is the interval of a paced worker; None if not paced.
    `first` is the role's first operation if it was made before the start, so that warming up does not count as lag.
    A signal handler may raise Stopped anywhere while `must_not_stop` is False, and sets `stop_requested` otherwise.
    """

    role: Role
    connection: Connection
    recorder: SecondRecorder
    start_ns: int
    statements: int | None
    end_ns: int | None
    tick_ns: int | None
    coupling: Coupling | None
    first: bytes | Transaction | None = None
    must_not_stop: bool = field(default=False, init=False)
    stop_requested: bool = field(default=False, init=False)
    _under_way: OperationRecorder = field(init=False)
    _sent_ns: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._under_way = self.recorder.first
        self._run_steps = transaction_runner(self.connection)
        self.recorder.in_flight = self._in_flight

    def run(self) -> dict[str, Any]:
        """Run to the end. Returns the totals of table `workers`, with status and error.

        The recorder has handed over every second when this returns, also after an error.
        """
        before, asked_ns = resource.getrusage(resource.RUSAGE_SELF), self.connection.asked_ns
        self.recorder.begin()
        status, error = "complete", None
        try:
            self._sleep_until(self.start_ns)
            self._loop()
            self.role.finish()
        except Stopped:
            status = "interrupted"
        except ConnectionLost as lost:
            if self.must_not_stop:  # lost while an operation was in flight
                self._under_way.record_unknown(time.monotonic_ns())
            status, error = "failed", f"connection lost: {lost}"
        except StatementError as refused:
            status, error = "failed", f"server answered {refused}"
        if not self.must_not_stop:
            self._sent_ns = None
        self.must_not_stop = True
        end_ns = time.monotonic_ns()
        asked_ns = self.connection.asked_ns - asked_ns
        return totals(self.recorder, [self.role], before, asked_ns, end_ns, status, error)

    def _in_flight(self) -> tuple[tuple[OperationRecorder, int], ...]:
        """The operation of which the recorder is being told; it looks at no other moment."""
        return () if self._sent_ns is None else ((self._under_way, self._sent_ns),)

    def _loop(self) -> None:
        done = 0
        free_ns = due_ns = self.start_ns
        clock, coupling, tick_ns, pauses = time.monotonic_ns, self.coupling, self.tick_ns, self.role.pauses
        made = () if self.first is None else (self.first,)
        run: Callable[[Any], int]
        if self.role.transactional:
            make: Callable[[], Any] = cast(TransactionRole, self.role).next_transaction
            run, record = self._transact, self._record
        else:
            make = self.role.next_statement
            run, record = self.connection.execute, self.recorder.first.record
        next_operation = chain(made, iter(make, None)).__next__
        end_ns = _NEVER if self.end_ns is None else self.end_ns
        while done != self.statements:
            if coupling is not None and not coupling.take(self.end_ns):
                return
            if tick_ns is not None:
                free_ns = clock()
                due_ns = self.start_ns + done * tick_ns
                if due_ns >= end_ns:
                    return
            operation = next_operation()
            if tick_ns is not None:
                self._sleep_until(due_ns)
            elif pauses:
                self._sleep_until(min(free_ns + self.role.pause_ns, end_ns))
            self.must_not_stop = True
            self._sent_ns = sent_ns = clock()
            if sent_ns >= end_ns:
                self.must_not_stop = False
                return
            try:
                rows = run(operation)
            except StatementError as error:
                rows = self._again(run, operation, error)
            answered_ns = clock()
            record(due_ns, max(due_ns, free_ns) if tick_ns is not None else 0, sent_ns, answered_ns, rows)
            free_ns = answered_ns
            self.must_not_stop = False
            done += 1
            if coupling is not None:
                coupling.give()
            if self.stop_requested:
                raise Stopped

    def _transact(self, transaction: Transaction) -> int:
        """Run one transaction to its end. Returns the rows that it counts."""
        self._under_way = self.recorder.of(transaction.operation)
        return self._run_steps(transaction.steps())

    def _record(self, due_ns: int, ready_ns: int, sent_ns: int, answered_ns: int, rows: int) -> None:
        self._under_way.record(due_ns, ready_ns, sent_ns, answered_ns, rows)

    def _again(self, run: Callable[[Any], int], operation: bytes | Transaction, error: StatementError) -> int:
        """Repeat an operation after an error that allows it, up to a limit. Returns its rows."""
        for _ in range(self.role.max_retries):
            if error.retry_reason is None:
                break
            self._under_way.record_retry(time.monotonic_ns(), error.retry_reason)
            try:
                if self.role.transactional:  # a lock wait timeout rolls back a statement, and leaves its transaction
                    self.connection.execute(self.connection.rollback)
                return run(operation)
            except StatementError as again:
                error = again
        self._under_way.record_error(time.monotonic_ns())
        raise error

    def _sleep_until(self, moment_ns: int) -> None:
        remaining = moment_ns - time.monotonic_ns()
        if remaining > 0:
            time.sleep(remaining / 1e9)


def totals(
    recorder: SecondRecorder,
    roles: list[Role],
    before: resource.struct_rusage,
    asked_ns: int,
    end_ns: int,
    status: str,
    error: str | None,
) -> dict[str, Any]:
    """Ends the recording at `end_ns`. Returns the totals of table `workers`, with the error and what tables gained.

    `asked_ns` is the time that the roles' own statements took, which are no operations of the load. `outcomes` has the
    number of the connection, operation, outcome and how many.
    """
    after = resource.getrusage(resource.RUSAGE_SELF)
    recorder.finish(end_ns)
    lag, service = recorder.client_lag.bins_and_counts(), recorder.service.bins_and_counts()
    gained: dict[str, int] = {}
    for role in roles:
        for table, rows in role.rows_by_table(recorder.rows_by_operation()).items():
            gained[table] = gained.get(table, 0) + rows
    outcomes = [
        (connection, operation, outcome, ops)
        for connection, role in enumerate(roles)
        if isinstance(role, TransactionRole)
        for (operation, outcome), ops in role.outcomes.items()
    ]
    return {
        "status": status,
        "error": error,
        "end_ns": end_ns,
        **recorder.totals(),
        "cpu_user_s": after.ru_utime - before.ru_utime,
        "cpu_system_s": after.ru_stime - before.ru_stime,
        "client_lag_p99_us": quantile_us(*lag, 0.99) if lag[0] else None,
        "service_p50_us": quantile_us(*service, 0.5) if service[0] else None,
        "unrecorded_s": asked_ns / 1e9,
        "rows_by_table": gained,
        "outcomes": outcomes,
    }
