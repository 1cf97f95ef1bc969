"""What else moved in the stalls of a step."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.analysis.frames import repeats
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title
from ibench_lib.show.kit.series_names import shown

MOST_MOVES = 15

_RULE = (
    "A stall is a series of full seconds with less than half of the median rate of the step's full seconds, up to the "
    "end of the first client. "
    "What changed: the mean during the stalls lies outside the range of 95 % of the samples outside of all stalls, "
    "and is at least 1.25 times or at most 0.8 times their mean. The largest ratios come first; the tinier a figure, "
    "the less its ratio counts."
)


@answers("stall_company", "No stall was found.", by=["step", "setup", "dbms", "repeat"], steadiness="steadiness")
def stall_company_table(frame: pl.DataFrame, *, steadiness: pl.DataFrame) -> Grid:
    """What moved in the stalls of one run and step, all of them together (its rows of `stall_company`).

    `steadiness` is the answer of that question: it tells whether the run is one of several repeats.
    """
    first = frame.row(0, named=True)
    label = _label(first, steadiness)
    together = frame.filter(pl.col("stall").is_null())
    moved = together.filter(pl.col("moved")).sort("place")
    name = grid_name(f"company.{first['step']}.{first['dbms']}.{first['repeat']}", frame)
    title = grid_title(f"What changed in the stalls of {first['step']}: {label}", frame)
    columns = ["in the stalls", "outside", "ratio", "95 % of the samples outside"]
    grid = Grid(name, title, "figure", columns)
    for row in moved.head(MOST_MOVES).to_dicts():
        series = shown(row["source"], row["series"])
        inside, outside, low, high = (
            row[column] * series.factor for column in ("stall_mean", "other_mean", "other_low", "other_high")
        )
        texts = [_number(inside), _number(outside), _times(row), f"{_number(low)} to {_number(high)}"]
        unit = series.unit if series.unit in ("", "/s") else f" ({series.unit})"
        grid.rows.append((f"{series.name}{unit}", [Cell(text) for text in texts]))
    if moved.is_empty():
        grid.rows.append(("nothing beyond its usual range", [Cell("")] * len(columns)))
    still = len(together.filter(pl.col("moved").not_()))
    missing = together.filter(pl.col("moved").is_null())
    grid.notes = [_RULE, f"{len(moved)} changed, {still} did not."]
    if len(moved) > MOST_MOVES:
        grid.notes[-1] += f" The table lists the first {MOST_MOVES}."
    if len(missing):
        names = [shown(row["source"], row["series"]).name for row in missing.to_dicts()]
        grid.notes.append(f"Not captured, or without a value in or outside the stalls: {', '.join(names)}.")
    return grid


def _label(row: dict[str, Any], steadiness: pl.DataFrame) -> str:
    """The run of a row, with the mark of a step that did not complete."""
    label = row["dbms"] + (f" r{row['repeat']}" if repeats(steadiness) > 1 else "")
    return str(label + ("" if row["step_status"] == "complete" else f" ({row['step_status']})"))


def _times(row: dict[str, Any]) -> str:
    """How many times the mean outside; from nothing there is no such number."""
    if not row["other_mean"]:
        return "from 0"
    return f"{_number(row['stall_mean'] / row['other_mean'])}x"


def _number(value: float) -> str:
    """Three digits, more where the number has more before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
