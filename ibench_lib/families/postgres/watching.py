"""The connections of PostgreSQL's collectors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ibench_lib.capture.collector import CaptureTarget
from ibench_lib.client.driver import ConnectionLost, StatementError
from ibench_lib.families.postgres.driver import Connection

LOST = (ConnectionLost, StatementError, ValueError)

_TIMEOUT_S = 10.0
_NAME = "ibench capture"
NOT_OURS = f"application_name <> '{_NAME}'"
"""The condition of pg_stat_activity that leaves the collectors out."""


class Catalogue(NamedTuple):
    """What differs between versions in the expressions of the collectors' queries.

    `process` is the kind of a process of pg_stat_activity, `checkpoints` how many checkpoints are under way,
    `log_end` where the next byte of the write-ahead log comes, `redo_start` where that of the last checkpoint begins,
    `log_files` the sizes of its files as a column `size`. `lacks` has counters that there are none of, and why.
    """

    process: str
    checkpoints: str
    log_end: str
    redo_start: str
    log_files: str
    lacks: Mapping[str, str]


_SINCE_10 = Catalogue(
    process="backend_type",
    checkpoints=(
        "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
        " AND wait_event_type IS DISTINCT FROM 'Activity')"
    ),
    log_end="pg_current_wal_insert_lsn()",
    redo_start="(pg_control_checkpoint()).redo_lsn",
    log_files="pg_ls_waldir()",
    lacks={},
)
_BEFORE_10 = Catalogue(
    # Of its own processes the server lists those that vacuum only, by what they do.
    process="CASE WHEN query LIKE 'autovacuum: %' THEN 'autovacuum worker' ELSE 'client backend' END",
    checkpoints="NULL::bigint",
    log_end="pg_current_xlog_insert_location()",
    redo_start="(pg_control_checkpoint()).redo_location",
    log_files=(
        "(SELECT (pg_stat_file('pg_xlog/' || name, true)).size FROM pg_ls_dir('pg_xlog') name"
        " WHERE name ~ '^[0-9A-F]{24}$')"
    ),
    lacks={
        "now.checkpoints_under_way": "before version 10 the server does not list its checkpointer",
        "waiting": "before version 10 the server lists of its own processes those that vacuum only",
    },
)
_HAS_KINDS = (
    "SELECT count(*) FROM pg_attribute WHERE attrelid = 'pg_stat_activity'::regclass AND attname = 'backend_type'"
)


def catalogue_of(connection: Connection) -> Catalogue:
    """That of a server. Raises as `Connection.query`."""
    return _SINCE_10 if connection.scalar(_HAS_KINDS) else _BEFORE_10


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
