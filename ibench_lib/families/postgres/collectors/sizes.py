"""Sizes on disk at the end of each step: of tables and indexes by the server, of all files by their blocks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from ibench_lib.capture.collector import Collector
from ibench_lib.client.driver import ConnectionLost, StatementError
from ibench_lib.families.postgres.driver import Connection

_BLOCK = 512  # the unit of st_blocks
_REMOTE = "the server is remote: its files are on another host"
_NONE = {
    "system": "PostgreSQL has no system tablespace",
    "undo": "PostgreSQL has no undo: old row versions are in the tables",
    "binary_log": "PostgreSQL has no binary log",
}


class Sizes(Collector):
    """Does its work between steps. The write-ahead log counts as redo."""

    name: ClassVar[str] = "sizes"
    tables: ClassVar[tuple[str, ...]] = ("sizes",)
    every_s = 3600

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        """Nothing to do while a step runs."""

    def step_ended(self, step_id: int, step: str) -> None:
        tables, database, reason = self._by_server()
        for table in self.scene.tables:
            for what, size in zip(("table_data", "table_index"), tables.get(table, (None, None)), strict=True):
                self._emit(step_id, step, what, table, size, reason)
        self._emit(step_id, step, "database", "", database, reason)
        folder = self.scene.datadir
        places = {"datadir": folder, "redo": folder and _log_of(folder), "temporary": self.scene.tmpdir}
        for what, place in places.items():
            self._emit(step_id, step, what, "", None if place is None else _allocated(place), _REMOTE)
        for what, why in _NONE.items():
            self._emit(step_id, step, what, "", None, why)

    def _emit(self, step_id: int, step: str, what: str, name: str, size: int | None, reason: str) -> None:
        if size is None:
            self.null_reasons[f"sizes.{what}"] = reason
        self.emit("sizes", step_id=step_id, step=step, what=what, name=name, bytes=size)

    def _by_server(self) -> tuple[dict[str, tuple[int, int]], int | None, str]:
        """Bytes of each table and of its indexes, of the database; and why what is missing is missing."""
        query = (
            "SELECT relname, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
        try:
            connection = Connection(self.scene.address, self.scene.database, 30.0)
            try:
                rows = connection.fetch(connection.command(query.encode()))
                database = connection.scalar("SELECT pg_database_size(current_database())")
            finally:
                connection.close()
        except (ConnectionLost, StatementError) as error:
            return {}, None, f"no answer: {error}"
        found = {str(name or b"", "utf-8"): (int(data or 0), int(index or 0)) for name, data, index in rows}
        return found, database, "the server does not list the table"


def _log_of(datadir: Path) -> Path:
    """The folder of the write-ahead log, which has another name before 10."""
    return next((path for name in ("pg_wal", "pg_xlog") if (path := datadir / name).exists()), datadir / "pg_wal")


def _allocated(folder: Path) -> int:
    """Bytes of blocks of the files in a folder and its folders."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # a file that was dropped in between
                total += Path(root, name).lstat().st_blocks * _BLOCK
    return total
