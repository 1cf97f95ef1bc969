"""Sizes on disk at the end of each step: by the server's statistics, and by the blocks of its files."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import ClassVar

import pymysql

from ibench_lib.capture.collector import Collector
from ibench_lib.families.mysql.connection import LOST, connect, named_rows, rows, said

_BLOCK = 512  # the unit of st_blocks
_UNDO = re.compile(r"undo_?\d+|.*\.ibu")
_REDO = re.compile(r"ib_logfile\w+")
_HOMES = ("innodb_data_home_dir", "innodb_log_group_home_dir", "innodb_undo_directory")
_REMOTE = "the server is remote: its files are on another host"

Measured = tuple[int | None, str | None]
"""Bytes, or None and the reason."""


class Sizes(Collector):
    """Does its work between steps: no ANALYZE, no COUNT, one look at each file."""

    name: ClassVar[str] = "sizes"
    tables: ClassVar[tuple[str, ...]] = ("sizes",)
    every_s = 3600

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        """Nothing to do while a step runs."""

    def step_ended(self, step_id: int, step: str) -> None:
        engines = self._tables(step_id, step)
        for what, measure in self._sums(engines).items():
            size, reason = measure() if self.scene.datadir is not None else (None, _REMOTE)
            self._emit(step_id, step, what, "", size, reason)

    def _emit(self, step_id: int, step: str, what: str, name: str, size: int | None, reason: str | None) -> None:
        if size is None:
            self.null_reasons[f"sizes.{what}"] = reason or "unknown"
        self.emit("sizes", step_id=step_id, step=step, what=what, name=name, bytes=size)

    def _tables(self, step_id: int, step: str) -> set[str]:
        """Emit the tables' sizes. Returns their engines, as far as the server tells."""
        known: dict[str, dict[str, object]] = {}
        reason = "the server does not list the table"
        try:
            with connect(self.scene.address) as connection:
                with contextlib.suppress(pymysql.err.MySQLError):  # MySQL 8 and later keep statistics for a day
                    rows(connection, "SET SESSION information_schema_stats_expiry = 0")
                # By name: only so does the server look at these tables alone.
                listed = named_rows(
                    connection,
                    "SELECT TABLE_NAME, ENGINE, DATA_LENGTH, INDEX_LENGTH FROM information_schema.TABLES"
                    f" WHERE TABLE_SCHEMA = '{self.scene.database}'",
                )
            known = {str(row["table_name"]): row for row in listed}
        except LOST as error:
            reason = f"no answer: {said(error)}"
        for table in self.scene.tables:
            row = known.get(table, {})
            for what, column in (("table_data", "data_length"), ("table_index", "index_length")):
                value = row.get(column)
                self._emit(step_id, step, what, table, None if value is None else int(str(value)), reason)
        return {str(known[table]["engine"]) for table in self.scene.tables if table in known}

    def _sums(self, engines: set[str]) -> dict[str, Callable[[], Measured]]:
        return {
            "database": lambda: self._database(engines),
            "datadir": lambda: _allocated(self._everything()),
            "system": lambda: _allocated(self._system(), "no file of the system tablespace"),
            "undo": lambda: _allocated(self._undo(), "undo is in the system tablespace"),
            "redo": lambda: _allocated(self._redo(), "no redo log file"),
            "temporary": lambda: _allocated(self._temporary()),
            "binary_log": self._binary_log,
        }

    @property
    def _datadir(self) -> Path:
        assert self.scene.datadir is not None
        return self.scene.datadir

    def _folder(self, variable: str) -> Path:
        return self._datadir / self.scene.variables.get(variable, "")

    def _everything(self) -> Iterator[Path]:
        """The data directory, and what InnoDB keeps outside of it."""
        yield from _below(self._datadir)
        own = self._datadir.resolve()
        outside = {self._folder(name).resolve() for name in _HOMES if self.scene.variables.get(name)}
        for folder in sorted(outside):
            if not folder.is_relative_to(own):
                yield from _below(folder)

    def _database(self, engines: set[str]) -> Measured:
        if engines - {"InnoDB"}:
            return None, f"tables of {', '.join(sorted(engines))} have no files of their own in the database's folder"
        if self.scene.variables.get("innodb_file_per_table", "ON") != "ON":
            return None, "innodb_file_per_table is OFF: the tables are in the system tablespace"
        return _allocated(_below(self._datadir / self.scene.database), "the database has no folder")

    def _system(self) -> Iterator[Path]:
        home = self._folder("innodb_data_home_dir")
        described = self.scene.variables.get("innodb_data_file_path", "ibdata1")
        for part in described.split(";"):
            path = home / part.split(":")[0]
            if path.is_file():
                yield path

    def _undo(self) -> Iterator[Path]:
        folder = self._folder("innodb_undo_directory")
        yield from (path for path in _files(folder) if _UNDO.fullmatch(path.name))

    def _redo(self) -> Iterator[Path]:
        folder = self._folder("innodb_log_group_home_dir")
        yield from (path for path in _files(folder) if _REDO.fullmatch(path.name))
        yield from _files(folder / "#innodb_redo")  # MySQL 8.0.30 and later

    def _temporary(self) -> Iterator[Path]:
        folder = self._folder("innodb_data_home_dir")
        yield from (path for path in _files(folder) if path.name.startswith("ibtmp"))
        if "innodb_temp_tablespaces_dir" in self.scene.variables:  # MySQL 8.0.13 and later, one file a session
            yield from _files(self._folder("innodb_temp_tablespaces_dir"))
        if self.scene.tmpdir is not None:
            yield from _below(self.scene.tmpdir)

    def _binary_log(self) -> Measured:
        variables = self.scene.variables
        if variables.get("log_bin", "OFF") != "ON":
            return None, "the binary log is off"
        base = self._datadir / (variables.get("log_bin_basename") or "binlog")
        mine = (path for path in _files(base.parent) if path.name.startswith(f"{base.name}."))
        return _allocated(mine, f"no file {base.name}.*")


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder; none where there is no such folder."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                yield Path(entry.path)


def _below(folder: Path) -> Iterator[Path]:
    """The files of a folder and its folders."""
    for root, _, names in os.walk(folder):
        for name in names:
            yield Path(root, name)


def _allocated(paths: Iterable[Path], nothing: str | None = None) -> Measured:
    """Bytes of blocks allocated to files. Where there is none: None with the reason `nothing`, if given."""
    total, seen = 0, False
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # a log file that was dropped in between
            total += path.lstat().st_blocks * _BLOCK
            seen = True
    return (None, nothing) if nothing is not None and not seen else (total, None)
