"""The ledger: every attempt at a cell, in data/ledger.sqlite.

What is done is decided by the lake; this says what was tried, in which order, how it ended, and what an edited
experiment was before.

One process at a time writes it: the one that runs an experiment holds its lock.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from ibench_lib.base.locks import is_locked
from ibench_lib.errors import UsageError
from ibench_lib.paths import Workspace

State = Literal["running", "complete", "failed", "interrupted", "lost", "skipped"]

_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS attempts (
    attempt INTEGER PRIMARY KEY,
    experiment TEXT NOT NULL,
    dbms TEXT NOT NULL,
    setup TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    position INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    host TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'complete', 'failed', 'interrupted', 'lost', 'skipped')),
    run_id TEXT,
    error TEXT,
    begun TEXT NOT NULL,
    ended TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS attempts_by_cell ON attempts (experiment, dbms, setup, repeat);
"""


@dataclass(frozen=True)
class Attempt:
    """One attempt at a cell.

    `lost`: its runner died, and nothing of it is in the lake. `skipped`: not tried, and `error` says after which.
    """

    attempt: int
    experiment: str
    dbms: str
    setup: str
    repeat: int
    position: int
    fingerprint: str
    host: str
    state: State
    run_id: str | None
    error: str | None
    begun: str
    ended: str | None

    @property
    def cell(self) -> tuple[str, str, int]:
        """What the attempt was at, within its experiment."""
        return self.dbms, self.setup, self.repeat


class Ledger:
    """The ledger of a workspace. Every call is a transaction of its own."""

    def __init__(self, workspace: Workspace) -> None:
        workspace.data.mkdir(parents=True, exist_ok=True)
        self._path = workspace.ledger
        with self._open() as connection:
            _bring_up_to_date(connection)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self._path, timeout=30)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            with connection:
                yield connection
        finally:
            connection.close()

    def begin(self, experiment: str, cell: tuple[str, str, int], position: int, fingerprint: str, host: str) -> int:
        """A cell begins. Returns the number of the attempt."""
        with self._open() as connection:
            made = connection.execute(
                "INSERT INTO attempts (experiment, dbms, setup, repeat, position, fingerprint, host, state, begun)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, 'running', ?)",
                (experiment, *cell, position, fingerprint, host, _now()),
            )
            assert made.lastrowid is not None
            return made.lastrowid

    def skip(
        self, experiment: str, cell: tuple[str, str, int], position: int, fingerprint: str, host: str, why: str
    ) -> None:
        """A cell is not tried."""
        self.end(self.begin(experiment, cell, position, fingerprint, host), "skipped", error=why)

    def end(self, attempt: int, state: State, run_id: str | None = None, error: str | None = None) -> None:
        """A cell has ended, one way or another."""
        with self._open() as connection:
            connection.execute(
                "UPDATE attempts SET state = ?, run_id = coalesce(?, run_id), error = ?, ended = ? WHERE attempt = ?",
                (state, run_id, error, _now(), attempt),
            )

    def attempts(self, experiment: str | None = None) -> list[Attempt]:
        """Attempts in the order in which they began."""
        columns = ", ".join(Attempt.__dataclass_fields__)
        with self._open() as connection:
            rows = connection.execute(
                f"SELECT {columns} FROM attempts WHERE ?1 IS NULL OR experiment = ?1 ORDER BY attempt", (experiment,)
            )
            return [Attempt(*row) for row in rows]

    def close_abandoned(self) -> list[Attempt]:
        """Attempts that say running while nobody runs anything: their runner died. They become lost. Returns them."""
        abandoned = [attempt for attempt in self.attempts() if attempt.state == "running"]
        for attempt in abandoned:
            self.end(attempt.attempt, "lost", error="its runner was killed")
        return abandoned


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Make the tables; a ledger of before `skipped` keeps its rows in a new one, as a constraint cannot be changed."""
    if connection.execute("PRAGMA user_version").fetchone()[0] == _VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    older = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'attempts'").fetchone()
    if older:
        connection.execute("DROP INDEX IF EXISTS attempts_by_cell")
        connection.execute("ALTER TABLE attempts RENAME TO attempts_before")
    for statement in _SCHEMA.split(";"):
        connection.execute(statement)
    if older:
        connection.execute("INSERT INTO attempts SELECT * FROM attempts_before")
        connection.execute("DROP TABLE attempts_before")
    connection.execute(f"PRAGMA user_version = {_VERSION}")


@contextmanager
def running_alone(workspace: Workspace) -> Iterator[None]:
    """Hold the lock that only one process per workspace can have while it runs experiments.

    Raises
    ------
    UsageError : somebody does already: two at once would measure each other.
    """
    workspace.data.mkdir(parents=True, exist_ok=True)
    path = workspace.ledger.with_suffix(".lock")
    try:
        # What a link leads to is not ours to write.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise UsageError(f"{path} is a symbolic link", hint="remove it: a lock is a file of this workspace") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
            raise UsageError(
                f"an experiment is already running{f', process {holder}' if holder else ''}",
                hint="two at once would disturb each other; `ibench status` shows its progress",
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def is_running(workspace: Workspace) -> bool:
    """Whether somebody runs an experiment in this workspace now."""
    return is_locked(workspace.ledger.with_suffix(".lock"))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
