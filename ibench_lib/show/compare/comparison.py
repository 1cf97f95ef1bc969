"""What tables and sentences say of a comparison of A and B: its values, and what stands in the way of reading them."""

from __future__ import annotations

from statistics import median
from typing import Any

import polars as pl

from ibench_lib.analysis.comparison import Comparison, measured_of
from ibench_lib.analysis.frames import is_least, without_short_steps
from ibench_lib.base.wording import count
from ibench_lib.metrics import Metric
from ibench_lib.show.kit.statements import without_short
from ibench_lib.show.kit.table_cells import (
    LEAST,
    about_runs,
    least_notes,
    mark_notes,
    unrecorded_notes,
    value_text,
    why_missing,
)

_LITTLE_GIB = 0.1


def side_text(one: Comparison, rows: list[dict[str, Any]]) -> str:
    """The median of a side as the metric prints it, with three digits at least: a ratio stands next to it."""
    text = _median_text(one.metric, rows).replace("not captured", why_missing(one.metric.name))
    return f"{LEAST if is_least(rows, 'value') else ''}{text}"


def _median_text(metric: Metric, rows: list[dict[str, Any]]) -> str:
    values, step = measured_of(rows), metric.resolution
    if values and metric.unit == "GiB" and 0 < median(values) < _LITTLE_GIB:
        return f"{_small_size(median(values))}{about_runs(rows, 'value')}"
    if values and 0 < median(values) < 100 * step:
        return value_text(rows, "value", "#.3g" if step < 1 else ".3g")
    return value_text(rows, "value", metric.format)


def long_values(values: pl.DataFrame, rates: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """`metric_values` without the steps that nobody took a second for (`step_throughput`), and a sentence on these."""
    return without_short_steps(values, rates), without_short(rates)[1]


def reservations(frame: pl.DataFrame, a: str, b: str) -> list[str]:
    """What stands in the way of reading the values of a setup's steps as they are: missed rates, clients, marks."""
    notes = []
    limited = frame.filter((pl.col("step_status") == "complete") & pl.col("sla_failed").is_not_null())
    runs = limited.select("step_id", "step", "dbms", "run_id", "sla_failed").unique().sort("step_id")
    for (step, name), of_step in runs.group_by("step", "dbms", maintain_order=True):
        missed = int(of_step["sla_failed"].sum())
        if missed and name in (a, b):
            side = "A" if name == a else "B"
            notes.append(f"{side}, {step}: {missed} of {count(len(of_step), 'run')} missed a target rate.")
    return [*sorted(notes), *least_notes(frame), *unrecorded_notes(frame), *mark_notes(frame)]


def _small_size(gib: float) -> str:
    """A size that is little in GiB: 32 KiB, 5.2 MiB."""
    size, unit = (gib * 2**10, "MiB") if gib >= 2**-10 else (gib * 2**20, "KiB")
    return f"{size:,.0f} {unit}" if size >= 100 else f"{size:.3g} {unit}"
