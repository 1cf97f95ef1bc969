"""The panels of a step under the microscope, from top to bottom: which series each one shows, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from ibench_lib.base.wording import joined
from ibench_lib.show.kit.series_names import shown

Dash = Literal["solid", "dash", "dot"]


@dataclass(frozen=True)
class Line:
    """One series of a panel. A limit, which is grey, is what other lines are compared with."""

    source: str
    series: str
    label: str
    dash: Dash = "solid"
    limit: bool = False


@dataclass(frozen=True)
class Panel:
    """One panel. `value` is what stands for a point that several seconds share: their mean, or the greatest."""

    title: str
    lines: tuple[Line, ...]
    unit: str = ""
    log: bool = False
    value: Literal["middle", "high"] = "middle"

    @property
    def shown_unit(self) -> str:
        """What the y axis counts."""
        return self.unit or shown(self.lines[0].source, self.lines[0].series).unit


def _lines(source: str, **labels: str) -> tuple[Line, ...]:
    return tuple(Line(source, series, label) for series, label in labels.items())


RESPONSES = Panel("Response times", _lines("clients", p50_s="p50", p99_s="p99", p999_s="p99.9"), "ms", log=True)
"""Drawn from the responses of the main operation, not from series."""

_OF_ALL: tuple[Panel, ...] = (
    RESPONSES,
    Panel("History list length", _lines("server", history_list_length="undo logs")),
    Panel(
        "Checkpoint age",
        (
            Line("server", "checkpoint_age_bytes", "age"),
            Line("server", "checkpoint_age_async_bytes", "async flush", "dot", limit=True),
            Line("server", "checkpoint_age_sync_bytes", "sync flush", "dash", limit=True),
            Line("server", "checkpoint_age_limit_bytes", "limit", limit=True),
        ),
    ),
    Panel("Buffer pool", _lines("server", dirty_pages="dirty", free_pages="free"), "pages"),
    Panel(
        "Flushing",
        (
            *_lines(
                "server",
                pages_flushed_adaptive_per_s="adaptive",
                pages_flushed_sync_per_s="sync",
                pages_flushed_background_per_s="background",
                pages_flushed_lru_per_s="LRU",
            ),
            Line("server", "pages_written_per_s", "all", "dot", limit=True),
        ),
        "pages/s",
    ),
    Panel(
        "Waits",
        _lines(
            "server",
            redo_waits_per_s="log buffer",
            redo_file_waits_per_s="redo files",
            sync_flush_waits_per_s="sync flush",
            free_page_waits_per_s="free page",
        ),
        "waits/s",
    ),
    Panel("Redo generated", _lines("server", redo_lsn_bytes_per_s="redo")),
    Panel("fsync", _lines("server", redo_fsyncs_per_s="redo log", data_fsyncs_per_s="all of InnoDB"), "calls/s"),
    Panel("Time of an fsync", _lines("server", redo_fsync_ms="redo log"), value="high"),
    Panel(
        "Doublewrite",
        _lines("server", doublewrite_pages_per_s="pages", doublewrite_writes_per_s="writes"),
        "pages or writes/s",
    ),
    Panel("Row locks", _lines("server", row_locks_awaited="awaited"), "transactions", value="high"),
    Panel("Device, amount", _lines("device", read_bytes_per_s="read", written_bytes_per_s="written")),
    Panel(
        "Device, requests",
        _lines("device", reads_per_s="reads", writes_per_s="writes", flushes_per_s="flushes"),
        "requests/s",
    ),
    Panel(
        "Device, time of a request", _lines("device", read_ms="read", write_ms="write", flush_ms="flush"), value="high"
    ),
    Panel("Device, busy", _lines("device", busy_s_per_s="busy")),
    Panel(
        "CPU",
        (
            Line("host", "cpu_per_s", "host"),
            Line("process", "cpu_per_s", "server"),
            Line("clients", "clients_cpu", "clients"),
            Line("host", "cpu_iowait_s_per_s", "I/O wait"),
            Line("host", "cpu_steal_s_per_s", "stolen"),
        ),
    ),
)


def panels_of(families: pl.DataFrame) -> tuple[Panel, ...]:
    """The panels of a step whose clients had answers of these families of operations (`step_families`)."""
    found = families.to_dicts()
    rates = [_rates([row for row in found if row["counts"] == counts]) for counts in ("ops", "rows")]
    worst = tuple(Line("clients", row["worst_series"], row["family"]) for row in found)
    responses = [Panel("Worst response", worst, log=True, value="high")] if worst else []
    return (*(panel for panel in rates if panel), *responses, *_OF_ALL)


def _rates(families: list[dict[str, Any]]) -> Panel | None:
    """The panel of the rates of families that count the same: rows or operations."""
    if not families:
        return None
    rows = families[0]["counts"] == "rows"
    # There are mostly as many rows of the one as of the other: both are to be seen.
    lines = tuple(
        Line("clients", row["rate_series"], _plural(row), "dot" if rows and position else "solid")
        for position, row in enumerate(families)
    )
    title = joined([_plural(row) for row in families])
    several = "rows/s" if rows else "operations/s"
    return Panel(title[:1].upper() + title[1:], lines, several if rows or len(families) > 1 else families[0]["label"])


def _plural(family: dict[str, Any]) -> str:
    return str(family["label"]).removesuffix("/s")
