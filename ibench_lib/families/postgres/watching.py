"""The connections of PostgreSQL's collectors."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ibench_lib.capture.collector import CaptureTarget
from ibench_lib.client.driver import ConnectionLost, StatementError
from ibench_lib.families.postgres.driver import Connection

LOST = (ConnectionLost, StatementError, ValueError)

_TIMEOUT_S = 10.0
_NAME = "ibench capture"
NOT_OURS = f"application_name <> '{_NAME}'"
"""The condition of pg_stat_activity that leaves the collectors out."""


class Link:
    """A connection that is made when it is needed, and again after it was lost. `begins` gets each new one."""

    def __init__(self, scene: CaptureTarget, begins: Callable[[Connection], None] = lambda _: None) -> None:
        self._scene = scene
        self._begins = begins
        self._connection: Connection | None = None

    def connection(self) -> Connection:
        """The connection. Raises ConnectionLost, StatementError."""
        if self._connection is None:
            self._connection = Connection(self._scene.address, self._scene.database, _TIMEOUT_S)
            self._connection.query(f"SET application_name = '{_NAME}'")
            self._begins(self._connection)
        return self._connection

    def rows(self, query: str) -> list[tuple[str | None, ...]]:
        """The rows of an answer as text. Raises RuntimeError, and is connected again the next time."""
        try:
            connection = self.connection()
            rows = connection.fetch(connection.command(query.encode()))
        except LOST as error:
            self.close()
            raise RuntimeError(str(error)) from error
        return [tuple(None if value is None else value.decode("utf-8", "replace") for value in row) for row in rows]

    def objects(self, query: str) -> list[Any]:
        """The answer of a query for JSON, a value per row. Raises as `rows`."""
        return [json.loads(text or "null") for (text,) in self.rows(query)]

    def close(self) -> None:
        """Close it. Safe to call more than once."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
