"""The figures that every flavour of server gives in its own place: the wide columns of `server_samples`.

Which places these are, flavours say (`families/*/flavours/`). A place is looked for in
INFORMATION_SCHEMA.INNODB_METRICS (metric), SHOW GLOBAL STATUS (status) and SHOW GLOBAL VARIABLES (variable), in the
order given; the first that a server has is the one to read. Places of one figure mean the same; what only resembles it
is not listed. A variable may be a product, `a * b`.

A status comes before a metric that repeats it (`status_counter` in INNODB_METRICS): the metric counts from the moment
that it was switched on, the status from the server's start, and it costs nothing to switch on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["metric", "status", "variable"]
Place = tuple[Kind, str]


@dataclass(frozen=True)
class Figure:
    """One figure: its column, unit ('' for counts) and one sentence.

    `since` is the minor version of the schema that brought it. `counts_up`: it counts since the server's start.
    """

    column: str
    unit: str
    doc: str
    since: int = 1
    counts_up: bool = False


def _count(column: str, unit: str, doc: str, since: int = 1) -> Figure:
    """A figure that counts since the server's start."""
    return Figure(column, unit, doc, since, counts_up=True)


@dataclass(frozen=True)
class Counter:
    """One place to read a figure from. `enabled` is None for what needs no switching on."""

    kind: Kind
    name: str
    enabled: bool | None = None

    @property
    def factors(self) -> list[str]:
        """The names that are multiplied: one, but for a product of variables."""
        return self.name.split(" * ")

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" + (" (off: innodb_monitor_enable)" if self.enabled is False else "")


@dataclass(frozen=True)
class FigurePlaces:
    """Where servers of a flavour have each figure, by its column. A figure that is not among them is NULL.

    Parameters
    ----------
    places : places by column, the one to be preferred first.
    owners : a metric that is a member of a set -> the set's owner: it counts only while that is on.
    set_later : metrics whose 0 means nothing from the moment that they were switched on until the server sets them.
    set_later_in : the variable, and how its value begins, that tell the servers of which `set_later` holds.
    """

    places: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    owners: Mapping[str, str] = field(default_factory=dict)
    set_later: frozenset[str] = frozenset()
    set_later_in: tuple[str, str] = ("", "")

    def of(self, column: str) -> tuple[Place, ...]:
        """The places of one figure."""
        return self.places.get(column, ())


FIGURES: tuple[Figure, ...] = (
    Figure("history_list_length", "", "InnoDB history list length (purge lag), now", since=0),
    Figure("uptime_s", "s", "seconds since the server's start"),
    _count("questions", "", "statements from clients, cumulative"),
    Figure("threads_running", "", "connections that work, now"),
    _count("rows_inserted", "", "InnoDB rows, cumulative"),
    _count("rows_deleted", "", "InnoDB rows marked as deleted by statements, cumulative"),
    _count("rows_read", "", "InnoDB rows, cumulative"),
    Figure("checkpoint_age_bytes", "bytes", "redo written since the last checkpoint, now"),
    Figure(
        "checkpoint_age_async_bytes",
        "bytes",
        "age of the oldest change in the buffer pool from which flushing is forced while the load runs",
    ),
    Figure(
        "checkpoint_age_sync_bytes",
        "bytes",
        "age of the oldest change in the buffer pool from which it is flushed at any cost to the load",
    ),
    Figure("checkpoint_age_limit_bytes", "bytes", "checkpoint age from which writers wait for a checkpoint"),
    Figure("redo_capacity_bytes", "bytes", "size of the redo log, all files together"),
    _count(
        "redo_lsn_bytes",
        "bytes",
        "log sequence number, cumulative: its growth is the redo generated; goes on across restarts",
    ),
    _count(
        "redo_written_bytes",
        "bytes",
        "redo written to its files, cumulative: whole blocks, those written again counted again; from MariaDB 10.8 on"
        " the redo generated since the start instead",
    ),
    _count("redo_waits", "", "waits for space in the log buffer, cumulative"),
    _count("redo_file_waits", "", "waits of the log writer for space in the redo files, cumulative"),
    _count("redo_fsyncs", "", "fsyncs of the redo log, cumulative"),
    _count("data_fsyncs", "", "fsyncs by InnoDB, cumulative; those of the redo log are among them"),
    Figure("dirty_pages", "", "modified pages in the buffer pool, now"),
    Figure("free_pages", "", "free pages in the buffer pool, now"),
    Figure("pages", "", "pages of the buffer pool, now"),
    _count("pages_read", "", "pages read into the buffer pool, cumulative"),
    _count("pages_written", "", "pages written, cumulative"),
    _count("pages_flushed_adaptive", "", "pages flushed by adaptive flushing, cumulative"),
    _count("pages_flushed_sync", "", "pages flushed in batches that a checkpoint waited for, cumulative"),
    _count(
        "pages_flushed_background",
        "",
        "pages flushed in background batches, cumulative: by an idle server; from MariaDB 10.5 on also those forced"
        " by their age while the load runs",
    ),
    _count("pages_flushed_lru", "", "pages flushed from the end of the LRU list in batches, cumulative"),
    _count("pages_evicted_lru", "", "clean pages evicted from the end of the LRU list in batches, cumulative"),
    _count("sync_flush_waits", "", "waits for flushing up to a log sequence number, cumulative"),
    _count("free_page_searches", "", "searches for a free page, cumulative"),
    _count("free_page_loops", "", "further rounds of those searches, cumulative"),
    _count(
        "free_page_waits",
        "",
        "rounds of a search that found no free page, so that a user's thread waited or freed one itself, cumulative",
    ),
    _count(
        "single_page_searches",
        "",
        "searches by a user's thread for one page to flush or evict, successful or not, cumulative",
    ),
    _count("doublewrite_pages", "", "pages written to the doublewrite buffer, cumulative"),
    _count("doublewrite_writes", "", "writes of the doublewrite buffer, cumulative"),
    Figure("redo_pending_fsyncs", "", "fsyncs of the redo log under way, now", 7),
    _count("redo_flush_ms", "ms", "time of fsyncs of the redo log in whole milliseconds of each, cumulative", 7),
    Figure("row_locks_awaited", "", "transactions that wait for a row lock, now", 7),
    _count("row_lock_wait_ms", "ms", "time in finished waits for row locks, cumulative", 7),
    Figure("purge_delay_us", "us", "delay of each changing statement, because purge lags behind, now", 7),
    _count("com_select", "", "SELECT statements, those of collectors among them, cumulative", 9),
    _count("com_insert", "", "INSERT statements, cumulative", 9),
    _count("com_update", "", "UPDATE statements, cumulative", 9),
    _count("com_delete", "", "DELETE statements, cumulative", 9),
    _count("com_begin", "", "START TRANSACTION statements, cumulative", 9),
    _count("com_commit", "", "COMMIT statements, cumulative; no commits without a statement", 9),
    _count("com_rollback", "", "ROLLBACK statements, cumulative", 9),
)


def available(
    known: FigurePlaces, metrics: Mapping[str, bool], status: Mapping[str, str], variables: Mapping[str, str]
) -> dict[str, Counter | None]:
    """For each figure of `FIGURES`, by its column, where this server has it, or None.

    `metrics` maps the name of each metric to whether it is on; names in `status` and `variables` are compared without
    case.
    """
    has = {
        "metric": set(metrics),
        "status": {name.lower() for name in status},
        "variable": {name.lower() for name in variables},
    }
    counters: dict[str, Counter | None] = {}
    for figure in FIGURES:
        here = [
            place
            for place in known.of(figure.column)
            if all((name if place[0] == "metric" else name.lower()) in has[place[0]] for name in place[1].split(" * "))
        ]
        counters[figure.column] = None
        if here:
            kind, name = here[0]
            counters[figure.column] = Counter(kind, name, metrics[name] if kind == "metric" else None)
    return counters
