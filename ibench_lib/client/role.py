"""What a client sends: statements one by one, or transactions of several. A workload's client module makes roles."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from ibench_lib.client.mysql.connection import Connection

Row: TypeAlias = tuple[bytes | None, ...]


class Query(NamedTuple):
    """A command whose rows the transaction reads. Any other command is plain bytes, and its rows are counted."""

    command: bytes


Answer: TypeAlias = "int | Sequence[Row] | None"
"""What a transaction gets for a command: rows changed or returned, or for a Query the rows themselves, as text."""

Steps: TypeAlias = "Generator[bytes | Query, Answer, int]"


class Transaction(Protocol):
    """One operation of several statements, counted and timed as one under its name.

    `steps` yields the commands in turn, COMMIT or ROLLBACK included, gets the answer to each, and returns the rows that
    the operation counts. After a deadlock, a lock wait timeout or a serialisation failure the client sends ROLLBACK
    and begins again with a new call of `steps`: what it draws at random is drawn before, so that the input stays.
    """

    operation: str

    def steps(self) -> Steps: ...


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
    """What one connection sends. Subclasses give statements, or transactions; the load loop does the rest.

    `late_probes` are handed over when the load has ended. `max_retries` bounds the repeats of one operation.
    """

    late_probes: list[Probe]
    max_retries = 10
    transactional = False

    def __new__(cls, *_: object) -> Role:
        role = super().__new__(cls)
        role.late_probes = []
        return role

    def probe(self) -> list[Probe]:
        """Timed queries before the common start of the step."""
        return []

    def next_statement(self) -> bytes:
        """The next command for `Connection.execute`. Runs outside of the timed part."""
        raise NotImplementedError

    def finish(self) -> None:
        """What belongs to the load after its last statement."""

    def rows_by_table(self, rows: Mapping[str, int]) -> dict[str, int]:
        """By how many rows its acknowledged operations have changed each table; `rows` are those of each operation."""
        return {}


class TransactionRole(Role):
    """A role whose operations are transactions. `changed` counts rows of tables that COMMIT has acknowledged."""

    changed: Counter[str]
    transactional = True

    def __new__(cls, *_: object) -> TransactionRole:
        role = super().__new__(cls)
        assert isinstance(role, TransactionRole)
        role.changed = Counter()
        return role

    def next_transaction(self) -> Transaction:
        """The next operation. Runs outside of the timed part."""
        raise NotImplementedError

    def rows_by_table(self, rows: Mapping[str, int]) -> dict[str, int]:
        return dict(self.changed)


def next_operation(role: Role) -> bytes | Transaction:
    """What a role sends next, of either kind."""
    return role.next_transaction() if isinstance(role, TransactionRole) else role.next_statement()
