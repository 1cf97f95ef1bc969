"""The figures that every flavour of server gives in its own place: the wide columns of `server_samples`.

A place is looked for in INFORMATION_SCHEMA.INNODB_METRICS (metric), SHOW GLOBAL STATUS (status) and SHOW GLOBAL
VARIABLES (variable), in the order given; the first that this server has is the one to read. Places of one figure mean
the same; what only resembles it is not listed. A variable may be a product, `a * b`.

A status comes before a metric that repeats it (`status_counter` in INNODB_METRICS): the metric counts from the moment
that it was switched on, the status from the server's start, and it costs nothing to switch on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["metric", "status", "variable"]


@dataclass(frozen=True)
class Figure:
    """One figure: its column, unit ('' for counts), one sentence, and the places to read it from.

    `since` is the minor version of the schema that brought it.
    """

    column: str
    unit: str
    doc: str
    places: tuple[tuple[Kind, str], ...]
    since: int = 1


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


FIGURES: tuple[Figure, ...] = (
    Figure(
        "history_list_length",
        "",
        "InnoDB history list length (purge lag), now",
        (("metric", "trx_rseg_history_len"), ("status", "Innodb_history_list_length")),
        since=0,
    ),
    Figure("uptime_s", "s", "seconds since the server's start", (("status", "Uptime"),)),
    Figure("questions", "", "statements from clients, cumulative", (("status", "Questions"),)),
    Figure("threads_running", "", "connections that work, now", (("status", "Threads_running"),)),
    Figure("rows_inserted", "", "InnoDB rows, cumulative", (("status", "Innodb_rows_inserted"),)),
    Figure(
        "rows_deleted",
        "",
        "InnoDB rows marked as deleted by statements, cumulative",
        (("status", "Innodb_rows_deleted"),),
    ),
    Figure("rows_read", "", "InnoDB rows, cumulative", (("status", "Innodb_rows_read"),)),
    Figure(
        "checkpoint_age_bytes",
        "bytes",
        "redo written since the last checkpoint, now",
        (("status", "Innodb_checkpoint_age"), ("metric", "log_lsn_checkpoint_age")),
    ),
    Figure(
        "checkpoint_age_async_bytes",
        "bytes",
        "age of the oldest change in the buffer pool from which flushing is forced while the load runs",
        (("metric", "log_max_modified_age_async"),),
    ),
    Figure(
        "checkpoint_age_sync_bytes",
        "bytes",
        "age of the oldest change in the buffer pool from which it is flushed at any cost to the load",
        (("metric", "log_max_modified_age_sync"),),
    ),
    # Not log_max_modified_age_sync: it is 15/16 of this one, and of another age.
    Figure(
        "checkpoint_age_limit_bytes",
        "bytes",
        "checkpoint age from which writers wait for a checkpoint",
        (("status", "Innodb_checkpoint_max_age"),),
    ),
    # The status first: the variable is what was asked for, and MySQL 8.0.30 may still go by innodb_log_file_size.
    Figure(
        "redo_capacity_bytes",
        "bytes",
        "size of the redo log, all files together",
        (
            ("status", "Innodb_redo_log_capacity_resized"),
            ("variable", "innodb_redo_log_capacity"),
            ("variable", "innodb_log_file_size * innodb_log_files_in_group"),
            ("variable", "innodb_log_file_size"),
        ),
    ),
    Figure(
        "redo_lsn_bytes",
        "bytes",
        "log sequence number, cumulative: its growth is the redo generated; goes on across restarts",
        (
            ("status", "Innodb_redo_log_current_lsn"),
            ("status", "Innodb_lsn_current"),
            ("metric", "log_lsn_current"),
        ),
    ),
    Figure(
        "redo_written_bytes",
        "bytes",
        "redo written to its files, cumulative: whole blocks, those written again counted again; from MariaDB 10.8 on"
        " the redo generated since the start instead",
        (("status", "Innodb_os_log_written"),),
    ),
    Figure(
        "redo_waits",
        "",
        "waits for space in the log buffer, cumulative",
        (("status", "Innodb_log_waits"),),
    ),
    Figure(
        "redo_file_waits",
        "",
        "waits of the log writer for space in the redo files, cumulative",
        (("metric", "log_writer_on_file_space_waits"),),
    ),
    Figure("redo_fsyncs", "", "fsyncs of the redo log, cumulative", (("status", "Innodb_os_log_fsyncs"),)),
    Figure(
        "data_fsyncs",
        "",
        "fsyncs by InnoDB, cumulative; those of the redo log are among them",
        (("status", "Innodb_data_fsyncs"),),
    ),
    Figure(
        "dirty_pages", "", "modified pages in the buffer pool, now", (("status", "Innodb_buffer_pool_pages_dirty"),)
    ),
    Figure("free_pages", "", "free pages in the buffer pool, now", (("status", "Innodb_buffer_pool_pages_free"),)),
    Figure("pages", "", "pages of the buffer pool, now", (("status", "Innodb_buffer_pool_pages_total"),)),
    Figure("pages_read", "", "pages read into the buffer pool, cumulative", (("status", "Innodb_pages_read"),)),
    Figure("pages_written", "", "pages written, cumulative", (("status", "Innodb_pages_written"),)),
    Figure(
        "pages_flushed_adaptive",
        "",
        "pages flushed by adaptive flushing, cumulative",
        (("metric", "buffer_flush_adaptive_total_pages"),),
    ),
    Figure(
        "pages_flushed_sync",
        "",
        "pages flushed in batches that a checkpoint waited for, cumulative",
        (("metric", "buffer_flush_sync_total_pages"),),
    ),
    Figure(
        "pages_flushed_background",
        "",
        "pages flushed in background batches, cumulative: by an idle server; from MariaDB 10.5 on also those forced"
        " by their age while the load runs",
        (("metric", "buffer_flush_background_total_pages"),),
    ),
    Figure(
        "pages_flushed_lru",
        "",
        "pages flushed from the end of the LRU list in batches, cumulative",
        (("metric", "buffer_LRU_batch_flush_total_pages"),),
    ),
    Figure(
        "pages_evicted_lru",
        "",
        "clean pages evicted from the end of the LRU list in batches, cumulative",
        (("metric", "buffer_LRU_batch_evict_total_pages"),),
    ),
    Figure(
        "sync_flush_waits",
        "",
        "waits for flushing up to a log sequence number, cumulative",
        (("metric", "buffer_flush_sync_waits"),),
    ),
    Figure(
        "free_page_searches",
        "",
        "searches for a free page, cumulative",
        (("metric", "buffer_LRU_get_free_search"),),
    ),
    Figure(
        "free_page_loops",
        "",
        "further rounds of those searches, cumulative",
        (("metric", "buffer_LRU_get_free_loops"),),
    ),
    Figure(
        "free_page_waits",
        "",
        "rounds of a search that found no free page, so that a user's thread waited or freed one itself, cumulative",
        (("status", "Innodb_buffer_pool_wait_free"),),
    ),
    Figure(
        "single_page_searches",
        "",
        "searches by a user's thread for one page to flush or evict, successful or not, cumulative",
        (("metric", "buffer_LRU_single_flush_num_scan"),),
    ),
    Figure(
        "doublewrite_pages",
        "",
        "pages written to the doublewrite buffer, cumulative",
        (("status", "Innodb_dblwr_pages_written"),),
    ),
    Figure(
        "doublewrite_writes",
        "",
        "writes of the doublewrite buffer, cumulative",
        (("status", "Innodb_dblwr_writes"),),
    ),
)


# A metric that is a member of a set counts only while the set's owner is on.
OWNERS = {"buffer_LRU_single_flush_num_scan": "buffer_LRU_single_flush_scanned"}

# InnoDB up to 5.7 sets these when it writes redo or makes a checkpoint, not when they are read: from the moment that
# they were switched on until then they say 0.
SET_LATER = frozenset({"log_lsn_checkpoint_age"})


def available(
    metrics: Mapping[str, bool], status: Mapping[str, str], variables: Mapping[str, str]
) -> dict[str, Counter | None]:
    """For each figure of `FIGURES`, by its column, where this server has it, or None.

    `metrics` maps the name of each InnoDB metric to whether it is on; names in `status` and `variables` are compared
    without case.
    """
    has = {
        "metric": set(metrics),
        "status": {name.lower() for name in status},
        "variable": {name.lower() for name in variables},
    }
    found: dict[str, Counter | None] = {}
    for figure in FIGURES:
        here = [
            place
            for place in figure.places
            if all((name if place[0] == "metric" else name.lower()) in has[place[0]] for name in place[1].split(" * "))
        ]
        found[figure.column] = None
        if here:
            kind, name = here[0]
            found[figure.column] = Counter(kind, name, metrics[name] if kind == "metric" else None)
    return found
