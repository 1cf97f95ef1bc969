"""The driver of PostgreSQL: the protocol itself, with one statement under way at a time.

A command is a mark and what follows it: the text of a query, or the messages of a prepared statement.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ibench_lib.client import driver
from ibench_lib.client.compiled import CompiledExchange
from ibench_lib.client.driver import Row, StatementError
from ibench_lib.client.exchange import Exchange
from ibench_lib.families.postgres.compiled import CompiledWire, completed_by, wire_to
from ibench_lib.families.postgres.driver_core import CORE
from ibench_lib.families.postgres.prepared import Prepared, PreparedRows
from ibench_lib.families.postgres.wire import TEXT


class Connection:
    """A connection, as `driver.Connection` describes it. Parameters are those of `driver.connect`."""

    family = "postgres"
    rollback = TEXT + b"ROLLBACK"

    def __init__(self, address: Mapping[str, Any], database: str | None, timeout_s: float) -> None:
        self.asked_ns = 0
        self._wire = wire_to(address, database, timeout_s)
        self.execute = self._wire.execute
        self.execute_several = self._wire.execute_several
        self.fetch = self._wire.fetch
        self.begin = self._wire.begin
        self.arrived = self._wire.arrived
        self.fileno = self._wire.fileno
        self.close = self._wire.close
        if isinstance(self._wire, CompiledWire):
            self.transact, self.exchange = self._wire.transact, _exchange

    @property
    def id(self) -> int | None:
        """The process of the connection at the server."""
        return self._wire.id

    @staticmethod
    def command(text: bytes) -> bytes:
        """The command that sends an SQL text."""
        return TEXT + text

    def query(self, text: str) -> int:
        """Run one SQL text. Returns the rows that it changed or returned. Raises as `driver.Connection.query`."""
        return cast(int, self._asked(text, fetch=False))

    def scalar(self, text: str) -> int | None:
        """First column of the first row as an integer, or None for NULL. Raises as `query` does."""
        value = self._first_row(text)[0]
        return None if value is None else int(value)

    def text(self, text: str, column: int = 0) -> str:
        """One column of the first row as text. Raises as `query` does."""
        value = self._first_row(text)[column]
        return str(None) if value is None else value.decode()

    def prepared(self, text: str) -> driver.PreparedStatement:
        """Prepare a text that `%` would complete (`driver.Statement`). Raises as `query`."""
        statement = Prepared(text)
        self._prepare(statement.opening)
        return completed_by(statement)

    def prepared_rows(self, insert: str, rows: int, integers: int, strings: Sequence[bytes]) -> PreparedRows:
        """Prepare an INSERT of so many rows (`driver.Connection.prepared_rows`). Raises as `query`."""
        statement = PreparedRows(insert, rows, integers, strings)
        self._prepare(statement.opening)
        return statement

    def _asked(self, text: str, *, fetch: bool) -> int | Sequence[Row]:
        begun_ns = time.monotonic_ns()
        try:
            command = TEXT + text.encode()
            return self.fetch(command) if fetch else self.execute(command)
        finally:
            self.asked_ns += time.monotonic_ns() - begun_ns

    def _first_row(self, text: str) -> Row:
        rows = cast("list[Row]", self._asked(text, fetch=True))
        if not rows:
            raise StatementError("02000", f"no row in answer to: {text}")
        return rows[0]

    def _prepare(self, opening: bytes) -> None:
        begun_ns = time.monotonic_ns()
        try:
            self._wire.send(opening, fetch=False)
            self._wire.answer()
        finally:
            self.asked_ns += time.monotonic_ns() - begun_ns


def _exchange(connections: Sequence[driver.Connection]) -> Exchange | None:
    """The compiled exchange; None if not all of these connections can be in it."""
    wires = [connection._wire for connection in connections if isinstance(connection, Connection)]
    compiled = [wire for wire in wires if isinstance(wire, CompiledWire)]
    module = CORE.used().module
    return CompiledExchange(module, compiled) if module and len(compiled) == len(connections) else None


def connect(
    address: Mapping[str, Any], database: str | None, timeout_s: float, like: driver.Connection | None = None
) -> driver.Connection:
    """A connection of this driver (`driver.connect`)."""
    return Connection(address, database, timeout_s)
