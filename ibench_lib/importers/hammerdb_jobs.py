"""Reads the jobs of HammerDB's SQLite database, without trusting it: a database can have more in it than tables.

The content is opened in memory, so nothing is written, locked or unpacked. Only the queries of this file run, on plain
tables of these names: views, virtual tables, functions and everything else is refused by an authorizer. Extensions
cannot be loaded, and the work and the size of a value have limits. Passwords stand in columns that are never read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ibench_lib.base.later import later

if TYPE_CHECKING:
    import sqlite3
else:
    sqlite3 = later("sqlite3")

MAGIC = b"SQLite format 3\0"
_JOBS = "JOBMAIN"
_QUERIES = {
    "JOBMAIN": "SELECT jobid, bm FROM JOBMAIN ORDER BY rowid",
    "JOBOUTPUT": "SELECT jobid, vu, output FROM JOBOUTPUT ORDER BY rowid",
    "JOBTIMING": "SELECT jobid, vu, procname, calls, min_ms, max_ms, total_ms, summary FROM JOBTIMING ORDER BY rowid",
    "JOBTCOUNT": "SELECT jobid, counter, metric FROM JOBTCOUNT ORDER BY rowid",
}
_LEAF, _TYPE_OF_PAGE = 0x0D, 100
# An operation of SQLite's virtual machine takes some 10 ns. A row takes some ten of them.
_OPERATIONS, _EACH = 50_000_000, 10_000
_STATEMENT_BYTES = 20_000
_VALUE_BYTES = 1_000_000
_TABLES = 1_000
_ROWS = 500_000


class NotReadable(Exception):
    """Why a database is not read, as the end of a line that begins with its name."""


@dataclass
class Job:
    """What a job has left.

    Parameters
    ----------
    benchmark : TPC-C, or another one.
    lines : virtual user and text of its output, in order.
    calls : of each virtual user and procedure: calls, and the shortest, longest and added times in ms.
    samples : transactions per minute of its counter.
    """

    benchmark: str
    lines: list[tuple[int, str]] = field(default_factory=list)
    calls: list[tuple[int, str, int, float, float, float]] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)


def may_be_jobs(first: bytes) -> bool:
    """Whether the first bytes of a file are those of an SQLite database, which may have jobs.

    The names of tables stand in the first page, unless there are too many.
    """
    if not first.startswith(MAGIC):
        return False
    one_page = len(first) > _TYPE_OF_PAGE and first[_TYPE_OF_PAGE] == _LEAF
    return not one_page or len(first) < 4_096 or _JOBS.encode() in first


def read_jobs(content: bytes) -> list[Job]:
    """The jobs of a database, in their order. Rows that are not of the kind that HammerDB writes are left out.

    Raises
    ------
    NotReadable : it is damaged, or no database of jobs, or would take too long.
    """
    page = int.from_bytes(content[16:18], "big")
    page = 65_536 if page == 1 else page
    pages = int.from_bytes(content[28:32], "big")
    # SQLite takes what is missing of a page for zeros.
    if not content.startswith(MAGIC) or not page or len(content) % page or len(content) < pages * page:
        raise NotReadable("it is cut off or damaged")
    try:
        with closing(_opened(content)) as database:
            return list(_read(database, len(content)).values())
    except (sqlite3.Error, UnicodeError) as error:  # a damaged name is in a message that cannot be decoded
        said = (str(error).splitlines() or [""])[0][:200]
        raise NotReadable(f"it cannot be read ({said})") from error


def _opened(content: bytes) -> sqlite3.Connection:
    """A connection that may only read, with its limits."""
    database = sqlite3.connect(":memory:")
    try:
        # A database in memory has no file for a journal of its own: that of a closed one is empty.
        database.deserialize(content[:18] + b"\1\1" + content[20:])
        database.text_factory = lambda text: text.decode("utf-8", "replace")
        for pragma in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
            database.execute(f"PRAGMA {pragma}")
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _VALUE_BYTES)
        database.setlimit(sqlite3.SQLITE_LIMIT_VDBE_OP, 10_000)
        database.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, _STATEMENT_BYTES)  # of what makes its tables, too
        database.set_progress_handler(_Budget(_OPERATIONS // _EACH), _EACH)
    except BaseException:
        database.close()
        raise
    return database


class _Budget:
    """Ends a query when all of them together have taken so many operations."""

    def __init__(self, calls: int) -> None:
        self._left = calls

    def __call__(self) -> int:
        """Whether to end: asked every so many operations."""
        self._left -= 1
        return int(self._left < 0)


def _authorized(action: int, name: str | None, column: str | None, _: str | None, inside: str | None) -> int:
    """Reading columns of our tables is allowed, and nothing else; `inside` is a view or a trigger."""
    reads = action == sqlite3.SQLITE_READ and inside is None and name in ("sqlite_master", *_QUERIES)
    return sqlite3.SQLITE_OK if reads or action == sqlite3.SQLITE_SELECT else sqlite3.SQLITE_DENY


def _read(database: sqlite3.Connection, size: int) -> dict[Any, Job]:
    """The jobs by their ids, of a database of so many bytes: damaged tables may have the same page again and again."""
    there = database.execute("SELECT type, name, sql FROM sqlite_master").fetchmany(_TABLES)
    plain = {
        name
        for kind, name, sql in there
        if kind == "table" and isinstance(sql, str) and sql.upper().startswith("CREATE TABLE")
    }
    if _JOBS not in plain:
        raise NotReadable("it has no jobs of HammerDB")
    # A computed column would execute its functions, and the authorizer is not asked for those of a schema.
    for table in plain & _QUERIES.keys():
        if any(hidden for *_, hidden in database.execute(f"PRAGMA table_xinfo({table})")):
            raise NotReadable(f"its table {table} has computed columns")
    database.set_authorizer(_authorized)
    jobs: dict[Any, Job] = {}
    rows = _Rows(database, size)
    for job, benchmark in rows.of(_JOBS):
        if isinstance(job, str) and isinstance(benchmark, str):
            jobs.setdefault(job, Job(benchmark))
    takes: dict[str, Callable[[Job, Any], None]] = {"JOBOUTPUT": _line, "JOBTIMING": _call, "JOBTCOUNT": _sample}
    for table, take in takes.items():
        for job, *values in rows.of(table) if table in plain else ():
            if job in jobs:
                take(jobs[job], values)
    return jobs


class _Rows:
    """The rows of tables: together not too many, and with no more text than the database has bytes."""

    def __init__(self, database: sqlite3.Connection, size: int) -> None:
        self._database = database
        self._rows, self._bytes = _ROWS, size

    def of(self, table: str) -> Iterator[Any]:
        """The rows of a table."""
        for row in self._database.execute(_QUERIES[table]):
            self._rows -= 1
            self._bytes -= sum(len(value) for value in row if isinstance(value, str | bytes))
            if self._rows < 0 or self._bytes < 0:
                raise NotReadable(f"it has over {_ROWS:,} rows, or more text than bytes")
            yield row


def _line(job: Job, values: Any) -> None:
    user, text = values
    if type(user) is int and isinstance(text, str):
        job.lines.append((user, text))


def _call(job: Job, values: Any) -> None:
    user, procedure, calls, least, most, total, of_all = values
    numbers = all(isinstance(time, int | float) and 0 <= time < 1e12 for time in (least, most, total))
    # The summary has medians of users.
    if of_all == 0 and type(user) is int and isinstance(procedure, str) and type(calls) is int and numbers:
        job.calls.append((user, procedure, calls, float(least), float(most), float(total)))


def _sample(job: Job, values: Any) -> None:
    counter, metric = values
    if type(counter) is int and 0 <= counter < 10**12 and isinstance(metric, str) and metric.endswith("tpm"):
        job.samples.append(counter)
