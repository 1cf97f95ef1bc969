"""The figures that every flavour of server gives in its own place: the wide columns of `server_samples`.

A place is looked for in INFORMATION_SCHEMA.INNODB_METRICS (metric), SHOW GLOBAL STATUS (status) and SHOW GLOBAL
VARIABLES (variable), in the order given; the first that this server has is the one to read. Places of one figure mean
the same; what only resembles it is not listed.
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
    Figure("rows_deleted", "", "InnoDB rows, cumulative", (("status", "Innodb_rows_deleted"),)),
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
        "checkpoint age from which flushing is forced beside the load",
        (("metric", "log_max_modified_age_async"),),
    ),
    Figure(
        "checkpoint_age_limit_bytes",
        "bytes",
        "checkpoint age from which writers wait",
        (("status", "Innodb_checkpoint_max_age"), ("metric", "log_max_modified_age_sync")),
    ),
    Figure(
        "redo_capacity_bytes",
        "bytes",
        "size of the redo log",
        (("variable", "innodb_redo_log_capacity"),),
    ),
    Figure(
        "redo_written_bytes",
        "bytes",
        "redo written, cumulative",
        (("status", "Innodb_os_log_written"),),
    ),
    Figure(
        "redo_waits",
        "",
        "waits for space in the log buffer, cumulative",
        (("status", "Innodb_log_waits"), ("metric", "log_waits")),
    ),
    Figure(
        "redo_file_waits",
        "",
        "waits of the log writer for space in the redo files, cumulative",
        (("metric", "log_writer_on_file_space_waits"),),
    ),
    Figure(
        "redo_fsyncs",
        "",
        "fsyncs of the redo log, cumulative",
        (("metric", "os_log_fsyncs"), ("status", "Innodb_os_log_fsyncs")),
    ),
    Figure(
        "data_fsyncs",
        "",
        "fsyncs of data files, cumulative",
        (("metric", "os_data_fsyncs"), ("status", "Innodb_data_fsyncs")),
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
        "pages flushed because the checkpoint age reached its limit, cumulative",
        (("metric", "buffer_flush_sync_total_pages"),),
    ),
    Figure(
        "pages_flushed_background",
        "",
        "pages flushed while the server was idle, cumulative",
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
        "waits for flushing because of the checkpoint age, cumulative",
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
        "waits for a free page, cumulative",
        (("status", "Innodb_buffer_pool_wait_free"), ("metric", "buffer_pool_wait_free")),
    ),
    Figure(
        "single_page_flushes",
        "",
        "searches for one page to flush by a user's thread, cumulative",
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
            if (place[1] if place[0] == "metric" else place[1].lower()) in has[place[0]]
        ]
        found[figure.column] = None
        if here:
            kind, name = here[0]
            found[figure.column] = Counter(kind, name, metrics[name] if kind == "metric" else None)
    return found
