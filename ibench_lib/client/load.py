"""The load loop of a client process: pace, send, check, record.

Rate-limited operations have absolute deadlines, start + n * tick, never re-synchronised: time lost to a stall is
caught up, not forgiven. Service time is sent to answered, intended time due to answered. Client lag is the part of a
late start that is the client's own: from when it could have sent (due, the last answer there, its partner ready) to
sent.
"""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ibench_lib.client.coupling import Coupling
from ibench_lib.client.histogram import quantile_us
from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.mysql.wire import ConnectionLost, StatementError
from ibench_lib.client.recorder import SecondRecorder

MAX_RETRIES = 10
_NEVER = 1 << 63


class Stopped(Exception):
    """The parent asked this worker to stop while no operation was in flight."""


@dataclass(frozen=True)
class Probe:
    """A single timed query. `sent_ns` on CLOCK_MONOTONIC."""

    name: str
    sent_ns: int
    seconds: float
    result: int | None

    @classmethod
    def of(cls, connection: Connection, name: str, query: str) -> Probe:
        """Run `query` and time it, sent to answered."""
        sent = time.monotonic_ns()
        result = connection.scalar(query)
        return cls(name, sent, (time.monotonic_ns() - sent) / 1e9, result)


class Role:
    """What a worker sends. Subclasses give the statements; the loop does the rest."""

    late_probes: list[Probe]

    def __new__(cls, *_: object) -> Role:
        role = super().__new__(cls)
        role.late_probes = []
        return role

    def probe(self) -> list[Probe]:
        """Timed queries before the common start of the step."""
        return []

    def next_statement(self) -> bytes:
        """The next command for `Connection.execute`. Runs outside the timed part."""
        raise NotImplementedError

    def finish(self) -> None:
        """What belongs to the load after its last statement."""


@dataclass
class Load:
    """One worker's part of a step.

    `statements` ends it by count, `end_ns` by time; `tick_ns` is the interval of a paced worker, None unpaced. `first`
    is the role's first statement where it was made before the start, so that warming up is no lag.
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
    first: bytes | None = None
    must_not_stop: bool = field(default=False, init=False)
    stop_requested: bool = field(default=False, init=False)

    def run(self) -> dict[str, Any]:
        """Run to the end. Returns the totals of table `workers`, with status and error.

        The recorder has handed over every second when this returns, also after an error.
        """
        before = resource.getrusage(resource.RUSAGE_SELF)
        self.recorder.begin()
        status, error = "complete", None
        try:
            self._sleep_until(self.start_ns)
            self._loop()
            self.role.finish()
        except Stopped:
            status = "interrupted"
        except ConnectionLost as lost:
            if self.must_not_stop:  # lost with an operation in flight, not between two
                self.recorder.record_unknown(time.monotonic_ns())
            status, error = "failed", f"connection lost: {lost}"
        except StatementError as refused:
            status, error = "failed", f"server answered {refused}"
        self.must_not_stop = True
        end_ns = time.monotonic_ns()
        after = resource.getrusage(resource.RUSAGE_SELF)
        self.recorder.finish(end_ns)
        recorder = self.recorder
        lag = recorder.client_lag.bins_and_counts()
        return {
            "status": status,
            "error": error,
            "end_ns": end_ns,
            "ops": recorder.total_ops,
            "rows": recorder.total_rows,
            "errors": recorder.total_errors,
            "retries": recorder.total_retries,
            "unknown": recorder.total_unknown,
            "cpu_user_s": after.ru_utime - before.ru_utime,
            "cpu_system_s": after.ru_stime - before.ru_stime,
            "client_lag_p99_us": quantile_us(*lag, 0.99) if lag[0] else None,
        }

    def _loop(self) -> None:
        done = 0
        free_ns = due_ns = self.start_ns
        clock, coupling, tick_ns = time.monotonic_ns, self.coupling, self.tick_ns
        made = () if self.first is None else (self.first,)
        next_statement = chain(made, iter(self.role.next_statement, None)).__next__
        execute, record = self.connection.execute, self.recorder.record
        end_ns = _NEVER if self.end_ns is None else self.end_ns
        while done != self.statements:
            if coupling is not None and not coupling.take(self.end_ns):
                return
            if tick_ns is not None:
                free_ns = clock()
                due_ns = self.start_ns + done * tick_ns
                if due_ns >= end_ns:
                    return
            statement = next_statement()
            if tick_ns is not None:
                self._sleep_until(due_ns)
            self.must_not_stop = True
            sent_ns = clock()
            if sent_ns >= end_ns:
                self.must_not_stop = False
                return
            try:
                rows = execute(statement)
            except StatementError as error:
                rows = self._again(statement, error)
            record(due_ns, max(due_ns, free_ns) if tick_ns is not None else 0, sent_ns, clock(), rows)
            self.must_not_stop = False
            done += 1
            if coupling is not None:
                coupling.give()
            if self.stop_requested:
                raise Stopped

    def _again(self, statement: bytes, error: StatementError) -> int:
        """Repeat, within bounds, a statement that a deadlock or lock wait timeout has rolled back. Returns its rows."""
        for _ in range(MAX_RETRIES):
            if not error.retryable:
                break
            self.recorder.record_retry(time.monotonic_ns())
            try:
                return self.connection.execute(statement)
            except StatementError as again:
                error = again
        self.recorder.record_error(time.monotonic_ns())
        raise error

    def _sleep_until(self, moment_ns: int) -> None:
        remaining = moment_ns - time.monotonic_ns()
        if remaining > 0:
            time.sleep(remaining / 1e9)
