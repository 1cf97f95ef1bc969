"""Where servers count what a benchmark wants to know, by name and version-independent meaning.

A name is looked for in INFORMATION_SCHEMA.INNODB_METRICS (metric), SHOW GLOBAL STATUS (status) and SHOW GLOBAL
VARIABLES (variable), in the order given; the first that this server has is the one to read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["metric", "status", "variable"]


@dataclass(frozen=True)
class Counter:
    """One place to read a figure from. `enabled` is None for what needs no switching on."""

    kind: Kind
    name: str
    enabled: bool | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" + (" (off: innodb_monitor_enable)" if self.enabled is False else "")


WANTED: dict[str, tuple[tuple[Kind, str], ...]] = {
    "history list length": (("metric", "trx_rseg_history_len"), ("status", "Innodb_history_list_length")),
    "checkpoint age": (("status", "Innodb_checkpoint_age"), ("metric", "log_lsn_checkpoint_age")),
    "checkpoint age limit": (
        ("status", "Innodb_checkpoint_max_age"),
        ("metric", "log_max_modified_age_async"),
        ("variable", "innodb_redo_log_capacity"),
    ),
    "pages flushed, adaptive": (("metric", "buffer_flush_adaptive_total_pages"),),
    "pages flushed, sync": (("metric", "buffer_flush_sync_total_pages"),),
    "pages flushed, background": (("metric", "buffer_flush_background_total_pages"),),
    "pages flushed from the LRU list": (("metric", "buffer_LRU_batch_flush_total_pages"),),
    "searches of the LRU list for a free page": (("metric", "buffer_LRU_get_free_search"),),
    "single-page flushes": (("metric", "buffer_LRU_single_flush_scanned"), ("status", "Innodb_buffer_pool_wait_free")),
    "redo waits": (("status", "Innodb_log_waits"), ("metric", "log_waits")),
    "redo fsyncs": (("metric", "os_log_fsyncs"), ("status", "Innodb_os_log_fsyncs")),
    "data fsyncs": (("metric", "os_data_fsyncs"), ("status", "Innodb_data_fsyncs")),
    "doublewrite, pages": (("status", "Innodb_dblwr_pages_written"),),
    "dirty pages": (("status", "Innodb_buffer_pool_pages_dirty"),),
}


def available(
    metrics: Mapping[str, bool], status: Mapping[str, str], variables: Mapping[str, str]
) -> dict[str, Counter | None]:
    """For each figure of `WANTED`, where this server has it, or None.

    `metrics` maps the name of each InnoDB metric to whether it is on; names in `status` and `variables` are compared
    without case.
    """
    has = {
        "metric": set(metrics),
        "status": {name.lower() for name in status},
        "variable": {name.lower() for name in variables},
    }
    found: dict[str, Counter | None] = {}
    for what, places in WANTED.items():
        here = [(kind, name) for kind, name in places if (name if kind == "metric" else name.lower()) in has[kind]]
        found[what] = None
        if here:
            kind, name = here[0]
            found[what] = Counter(kind, name, metrics[name] if kind == "metric" else None)
    return found
