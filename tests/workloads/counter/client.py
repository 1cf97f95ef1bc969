"""What the counter's clients send."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ibench_lib.client.driver import ROWS, Connection, Steps
from ibench_lib.client.role import Role, Transaction, TransactionRole
from ibench_lib.client.spec import Spec


class Filler(TransactionRole):
    """Adds rows one by one, each a transaction of its own."""

    def __init__(self, spec: Spec, connection: Connection) -> None:
        self.command = connection.command
        self.table, self._next = spec.details["table"], 0

    def next_transaction(self) -> Transaction:
        self._next += 1
        return Add(self, self._next)


@dataclass
class Add:
    role: Filler
    number: int
    operation = "add"

    def steps(self) -> Steps:
        rows = yield self.role.command(f"INSERT INTO {self.role.table} VALUES ({self.number}, 0)".encode())
        self.role.changed[self.role.table] += 1
        assert isinstance(rows, int)
        return rows


class Player(TransactionRole):
    """Every second operation bumps a row by ten; the others move what one row has to another."""

    max_retries = 100

    def __init__(self, spec: Spec, connection: Connection) -> None:
        self.command, self.table = connection.command, spec.details["table"]
        self._random = np.random.default_rng([spec.seed, spec.client, spec.terminal])
        self._rows = connection.scalar(f"SELECT COUNT(*) FROM {self.table}") or 1
        self._made = 0

    def next_transaction(self) -> Transaction:
        self._made += 1
        first, second = (int(number) for number in self._random.integers(1, self._rows + 1, 2))
        return Bump(self, self.table, first) if self._made % 2 else Move(self.command, self.table, first, second)


@dataclass
class Bump:
    role: Player
    table: str
    row: int
    operation = "bump"

    def steps(self) -> Steps:
        rows = yield self.role.command(f"UPDATE {self.table} SET n = n + 10 WHERE id = {self.row}".encode())
        self.role.changed[f"{self.table}.n"] += 1
        assert isinstance(rows, int)
        return rows


@dataclass
class Move:
    command: Callable[[bytes], bytes]
    table: str
    source: int
    target: int
    operation = "move"

    def steps(self) -> Steps:
        command = self.command
        yield command(b"START TRANSACTION")
        found = yield command(f"SELECT n FROM {self.table} WHERE id = {self.source} FOR UPDATE".encode()), ROWS
        assert not isinstance(found, int)
        ((amount,),) = found
        assert amount is not None
        yield command(f"UPDATE {self.table} SET n = n - {int(amount)} WHERE id = {self.source}".encode())
        yield command(f"UPDATE {self.table} SET n = n + {int(amount)} WHERE id = {self.target}".encode())
        yield command(b"COMMIT")
        return 2


def make_role(spec: Spec, connection: Connection) -> Role:
    return Filler(spec, connection) if spec.role == "fill" else Player(spec, connection)
