"""What a client sends: single statements, or transactions of several. A workload's client module makes roles."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from ibench_lib.client.driver import Connection, Steps
from ibench_lib.client.shared import SharedNumber


class Transaction(Protocol):
    """One operation of several statements, counted and timed as one operation under its name.

    `steps` yields the commands one after another, including COMMIT or ROLLBACK, receives the answer to each, and
    returns the number of rows that the operation counts. After a deadlock, a lock wait timeout or a serialisation
    failure, the client sends ROLLBACK and calls `steps` again. Draw random input before `steps`, so that a repeat has
    the same input.
    """

    operation: str

    def steps(self) -> Steps:
        """The commands of the operation, one after another; returns how many rows it counts."""


@dataclass(frozen=True)
class Probe:
    """A single timed query. `sent_ns` on CLOCK_MONOTONIC."""

    name: str
    sent_ns: int
    seconds: float
    result: int | None

    @classmethod
    def of(cls, connection: Connection, name: str, query: str) -> Probe:
        """Run `query` and measure the time from sent to answered."""
        sent = time.monotonic_ns()
        result = connection.scalar(query)
        return cls(name, sent, (time.monotonic_ns() - sent) / 1e9, result)


class Role:
    """What one connection sends. Subclasses provide statements or transactions; the load loop does the rest.

    `late_probes` are reported when the load has ended. `max_retries` limits the repeats of one operation. `shared` is
    the number that this role shares with others of its client (`Worker.shares`); if it has none, it is the role's own.
    A role that `pauses` sets `pause_ns` with each operation: how long its connection stays idle before it is sent, from
    the last answer or the start of the step. That time is part of no response. Such a load is not paced.
    """

    late_probes: list[Probe]
    shared: SharedNumber
    pause_ns: int
    max_retries = 10
    transactional = False
    pauses = False

    def __new__(cls, *_: object) -> Role:
        role = super().__new__(cls)
        role.late_probes = []
        role.shared = SharedNumber()
        role.pause_ns = 0
        return role

    def probe(self) -> list[Probe]:
        """Timed queries before the common start of the step."""
        return []

    def next_statement(self) -> bytes:
        """The next command for `Connection.execute`. Runs outside of the timed part; the first one after all probes.

        What it asks the server itself, through the other methods of `Connection`, is counted as `unrecorded_s`.
        """
        raise NotImplementedError

    def finish(self) -> None:
        """The work that belongs to the load but comes after its last statement."""

    def rows_by_table(self, rows: Mapping[str, int]) -> dict[str, int]:
        """The change in rows of each table by its acknowledged operations; `rows` has the rows of each operation.

        A workload may count more under names of its own, such as a column's sum, and compare it in its checks.
        """
        return {}


@dataclass(frozen=True)
class Insert:
    """One INSERT: its SQL text, its table and the number of its rows."""

    table: str
    rows: int
    text: bytes


class Loader(Role):
    """INSERTs into several tables, in the order in which `inserts` makes them, as the operation `insert`."""

    def __init__(self, connection: Connection, inserts: Iterator[Insert]) -> None:
        self._command = connection.command
        self._inserts = inserts
        self._sent: list[tuple[str, int]] = []

    def next_statement(self) -> bytes:
        made = next(self._inserts)
        self._sent.append((made.table, made.rows))
        return self._command(made.text)

    def rows_by_table(self, rows: Mapping[str, int]) -> dict[str, int]:
        """Statements are acknowledged in the order in which they were made."""
        left, of_table = rows["insert"], Counter[str]()
        for table, count in self._sent:
            taken = min(count, left)
            of_table[table] += taken
            left -= taken
        return dict(of_table)


class TransactionRole(Role):
    """A role whose operations are transactions. `changed` counts what COMMIT has acknowledged (`rows_by_table`).

    `outcomes` counts acknowledged operations by operation and outcome, where a workload tells outcomes apart.
    """

    changed: Counter[str]
    outcomes: Counter[tuple[str, str]]
    transactional = True

    def __new__(cls, *_: object) -> TransactionRole:
        role = super().__new__(cls)
        assert isinstance(role, TransactionRole)
        role.changed = Counter()
        role.outcomes = Counter()
        return role

    def next_transaction(self) -> Transaction:
        """The next operation. Runs outside of the timed part."""
        raise NotImplementedError

    def rows_by_table(self, rows: Mapping[str, int]) -> dict[str, int]:
        return dict(self.changed)


def next_operation(role: Role) -> bytes | Transaction:
    """The next operation of a role of either kind."""
    return role.next_transaction() if isinstance(role, TransactionRole) else role.next_statement()
