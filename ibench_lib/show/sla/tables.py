"""Achieved rates of rate-limited steps and their target."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.analysis.frames import by_position, rows_of, steps_of
from ibench_lib.base.wording import joined
from ibench_lib.metrics import METRICS, SLA_SHARE
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title
from ibench_lib.show.kit.table_cells import mark_notes, status_cell, value_text


@answers("sla", "No step has a target rate.")
def sla_table(frame: pl.DataFrame) -> Grid:
    """Achieved rates of rate-limited steps and their target (`sla`)."""
    steps = steps_of(frame)
    labels = {step: _labels(frame, step) for step in steps}
    columns: list[str] = []
    spanners: list[tuple[str, list[int]]] = []
    for step in steps:
        spanners.append((step, list(range(len(columns), len(columns) + len(labels[step])))))
        columns += labels[step]
    grid = Grid(grid_name("sla", frame), grid_title(_title(frame), frame), "dbms", columns, spanners=spanners)
    targets: list[Cell] = []
    for step in steps:
        known = frame.filter((pl.col("step") == step) & pl.col("target_per_s").is_not_null())["target_per_s"]
        # Experiments that share a setup may differ in their target.
        texts = dict.fromkeys(format(target, ",.0f") for target in known.unique().sort())
        targets += [Cell(" or ".join(texts) or "unknown")] * len(labels[step])
    grid.rows.append(("target", targets))
    for name in by_position(frame):
        cells: list[Cell] = []
        for step in steps:
            rows = rows_of(frame, name, step)
            status = status_cell(rows)
            for label in labels[step]:
                mine = [row | dict(zip(("rate", "missed"), _of_label(row, label), strict=True)) for row in rows]
                missed = any(row["step_status"] == "complete" and row["missed"] for row in mine)
                text = value_text(mine, "rate", METRICS["throughput"].format)
                cells.append(status or Cell(text, "sla_failed" if missed else None))
        grid.rows.append((name, cells))
    grid.notes = [f"missed: below {SLA_SHARE} of the target, which is clients x rate.", *mark_notes(frame)]
    return grid


def _title(frame: pl.DataFrame) -> str:
    """Such as: Background inserts and deletes."""
    labels = dict.fromkeys(label for step in steps_of(frame) for label in _labels(frame, step))
    what = joined([label.removesuffix("/s") for label in labels])
    return f"Background {what}" if frame["background"].all() else f"Rates of {what} that have a target"


def _labels(frame: pl.DataFrame, step: str) -> list[str]:
    """The names of the rates that have a target in a step."""
    lists = frame.filter(pl.col("step") == step)["labels"].to_list()
    return list(dict.fromkeys(label for labels in lists for label in labels))


def _of_label(row: dict[str, Any], label: str) -> tuple[float | None, bool | None]:
    """The rate of that name, and whether it missed its target."""
    if label not in row["labels"]:
        return None, None
    place = row["labels"].index(label)
    return row["rates"][place], (row["missed"] or [None] * len(row["labels"]))[place]
