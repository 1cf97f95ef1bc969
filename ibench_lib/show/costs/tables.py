"""Further metrics of one step: rates, storage, CPU and memory, devices, sizes; and what their names mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ibench_lib.analysis.frames import OTHERS_PCT, by_position, others_used_much, rows_of
from ibench_lib.metrics import METRICS, rates
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title
from ibench_lib.show.kit.table_cells import (
    NOT_YET_KNOWN,
    coverage_notes,
    mark_notes,
    repeat_notes,
    size_text,
    status_cell,
    value_text,
)

_WORK = ("duration_s", "rate_p50", "rate_p99", "maxop", "hll")
_STORAGE = ("rps", "wps", "rmbps", "wmbps", "rpq", "rkbpq", "wpi", "wkbpi")
_CPU = ("csps", "cpups", "cspq", "cpupq", "other_cpu", "ccpupq", "scpupq", "rss", "dbgb1", "dbgb2")
# As iostat heads them.
_DEVICE = {
    "rps": "r/s", "rmbps": "rMB/s", "read_wait_ms": "r_await", "read_kb": "rareq-sz", "wps": "w/s", "wmbps": "wMB/s",
    "write_wait_ms": "w_await", "write_kb": "wareq-sz", "flushes_per_s": "f/s", "flush_wait_ms": "f_await",
    "queue": "aqu-sz", "busy_pct": "%util",
}  # fmt: skip
_BY_STATISTICS = ("table_data", "table_index")
_SIZES = ("table_data", "table_index", "dbgb1", "system", "undo", "redo", "temporary", "binary_log", "dbgb2")
_OTHERS = (
    f"high, other_cpu: other processes of the host had over {OTHERS_PCT:.0f} % of the CPU time in at least one run. "
    "csps, cpups, cspq and cpupq are of the whole host and include them; scpupq and ccpupq do not."
)

# Experts know most by their names.
_HEADS = {name: name for name in (*_WORK, *_STORAGE, *_CPU)} | {
    "duration_s": "T (s)",
    "rate_p50": "rate p50",
    "rate_p99": "rate p99",
}

_SIZE_HEADS = {name: METRICS[name].label.removesuffix(" tablespace").removesuffix(" size") for name in _SIZES}

# Metrics whose columns in frames carry a unit.
_COLUMNS = {"maxop": "maxop_s", "hll": "history_list_length", "ccpupq": "ccpupq_us"}


_of_each_step = answers(
    "step_metrics",
    "No step took one second or more.",
    by=["step", "setup"],
    heading="step",
    anchor="metrics",
    fold=True,
    long=True,
)


@_of_each_step
def step_metrics_table(frame: pl.DataFrame) -> Grid:
    """Work of one step (`step_metrics`): T, rates, how even they were, worst response, history list."""
    shown = [_WORK[0], *_rates(frame), *_WORK[1:]]
    heads = _HEADS | {name: name for name in shown if name not in _HEADS}
    return _table(frame, "metrics", "Metrics of", {name: heads[name] for name in shown})


@_of_each_step
def step_storage_table(frame: pl.DataFrame) -> Grid:
    """What one step read and wrote on the device of the data (`step_metrics`), a second and per operation."""
    return _table(frame, "storage", "Storage in", {name: name for name in _STORAGE})


@_of_each_step
def step_cpu_table(frame: pl.DataFrame) -> Grid:
    """CPU and context switches of one step (`step_metrics`), a second and per operation; memory and sizes."""
    return _table(frame, "cpu", "CPU, memory and size in", {name: name for name in _CPU})


@answers("device_averages", "No step took one second or more.", by=["step", "setup"], long=True)
def device_table(frame: pl.DataFrame) -> Grid:
    """Averages of the devices that hold the data in one step (`device_averages`), as iostat gives them."""
    several = frame["device"].drop_nulls().n_unique() > 1
    named = frame.with_columns(
        dbms=pl.when(several & pl.col("device").is_not_null())
        .then(pl.col("dbms") + ", " + pl.col("device"))
        .otherwise(pl.col("dbms"))
    )
    # A row a device: each has a place of its own.
    placed = named.with_columns(dbms_position=pl.struct("dbms_position", "dbms").rank("dense"))
    notes = ["await: mean time of a request in ms; areq-sz: its mean size in KB; aqu-sz: mean number in flight."]
    return _table(placed, "devices", "Devices of the data in", _DEVICE, notes)


@answers("sizes_at_step_end", "No step to show.", by=["step", "setup"])
def sizes_table(frame: pl.DataFrame) -> Grid:
    """What was on disk at the end of one step (`sizes_at_step_end`), in GiB."""
    notes = [
        "rows and indexes come from the server's statistics (information_schema), which MySQL and MariaDB update about "
        f"10 s after a change. They are {NOT_YET_KNOWN} where the statistics lag: where they are too small for the "
        "number of rows or the size of the files. database includes the files of both. The other columns are blocks "
        "allocated on disk."
    ]
    return _table(frame, "sizes", "Sizes in GiB at the end of", _SIZE_HEADS, notes)


def metrics_legend() -> Grid:
    """What the names of the metrics mean, and whether more of one is better."""
    grid = Grid("metrics-legend", "What the columns are", "metric", ["is", "unit", "better"], left=True)
    named = {metric.name: metric.name for metrics in rates().values() for metric in metrics}
    first = {_WORK[0]: _HEADS[_WORK[0]]}
    for heads in (first | named | _HEADS, _DEVICE, _SIZE_HEADS):
        for name, head in heads.items():
            metric = METRICS[name]
            better = "" if metric.better == "neither" else metric.better
            grid.rows.append((head, [Cell(metric.doc), Cell(metric.unit), Cell(better)]))
    return grid


def _rates(frame: pl.DataFrame) -> list[str]:
    """The rates that the workload has names for, as far as the step has them; its throughput where it has none."""
    named = [metric.name for metrics in rates().values() for metric in metrics]
    return [name for name in named if name in frame.columns and frame[name].is_not_null().any()] or ["throughput"]


def _table(frame: pl.DataFrame, name: str, title: str, metrics: Mapping[str, str], notes: Sequence[str] = ()) -> Grid:
    """A row a dbms, a column a metric; `metrics` maps the name of each to its head."""
    step = frame["step"][0]
    grid = Grid(
        grid_name(f"{name}.{step}", frame),
        grid_title(f"{title} {step}", frame),
        "dbms",
        list(metrics.values()),
        words={"bad": "high"},
    )
    for dbms in by_position(frame):
        rows = rows_of(frame, dbms, step)
        texts = [_text(rows, metric) for metric in metrics]
        cells = [
            Cell(text, "bad" if metric == "other_cpu" and others_used_much(rows) else None)
            for metric, text in zip(metrics, texts, strict=True)
        ]
        grid.rows.append((dbms, [status_cell(rows) or cell for cell in cells]))
    means = any(METRICS[metric].group in ("cost", "device") for metric in metrics)
    unknown = any(cell.text == "-" for _, cells in grid.rows for cell in cells)
    grid.notes = [
        *notes,
        *repeat_notes(frame),
        *(["- not captured, or nothing to count."] if unknown else []),
        *(coverage_notes(frame) if means else []),
        *([_OTHERS] if any(cell.mark == "bad" for _, cells in grid.rows for cell in cells) else []),
        *mark_notes(frame),
    ]
    return grid


def _text(rows: list[dict[str, Any]], metric: str) -> str:
    text = value_text(rows, _COLUMNS.get(metric, metric), METRICS[metric].format)
    return size_text(text, rows) if metric in _BY_STATISTICS else text
