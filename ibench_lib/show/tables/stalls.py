"""The stalls of a step: when, how long, how bad, and what else moved in them."""

from __future__ import annotations

from typing import Any

import polars as pl
from great_tables import GT

from ibench_lib.show.frames import repeats
from ibench_lib.show.grid import Cell, Grid
from ibench_lib.show.series_names import shown
from ibench_lib.show.step_detail import StepDetail
from ibench_lib.show.tables.naming import grid_name, grid_title

MOST_STALLS = 30
MOST_MOVES = 15
_NAMED = 3

_RULE = (
    "What changed: the mean during the stall lies outside the range of 95 % of the samples outside of "
    "all stalls, and is "
    "at least 1.25 times or at most 0.8 times their mean. The largest relative changes come first, tiny figures last."
)


def stalls_table(frame: pl.DataFrame, *, detail: StepDetail, palette: str = "default") -> GT:
    """The stalls of one setup and step (rows of `stalls`), the longest when there are many, in the order of time."""
    step = frame["step"][0]
    unit = str(frame["rate_label"][0])
    columns = ["seconds", unit, "% of median", "worst (ms)", "clients", "what moved"]
    grid = Grid(grid_name(f"stalls.{step}", frame), grid_title(f"Stalls of {step}", frame), "dbms", columns, left=True)
    longest = frame.sort("seconds", descending=True, maintain_order=True).head(MOST_STALLS)
    for row in frame.join(longest.select("run_id", "stall"), on=["run_id", "stall"], how="semi").to_dicts():
        worst = "-" if row["max_response_s"] is None else f"{1e3 * row['max_response_s']:,.1f}"
        texts = [
            _when(row),
            f"{row['rate']:,.0f}",
            f"{100 * row['rate'] / row['median_rate']:.0f}",
            worst,
            f"{row['clients_seen']} of {row['clients']}",
            _moves(detail.stall_company.filter(run_id=row["run_id"], step_id=row["step_id"]), row["stall"]),
        ]
        grid.rows.append((_label(row, detail), [Cell(text) for text in texts]))
    grid.notes = [
        "A stall is a series of full seconds, counted from 0, with less than half of the median rate of "
        "all full seconds "
        f"of the step. Worst is the worst response that ended in the stall or in the second after it. {_RULE}"
    ]
    if frame["clients_seen"].min() < frame["clients"].max():  # type: ignore[operator]
        grid.notes.append("Where not all clients were at work, the others had ended: fewer clients do less.")
    if len(frame) > MOST_STALLS:
        grid.notes.append(f"The {MOST_STALLS} longest of {len(frame):,} stalls; the charts mark them all.")
    return grid.draw(palette)


def stall_company_table(frame: pl.DataFrame, *, detail: StepDetail, palette: str = "default") -> GT:
    """What moved in the stalls of one run and step, all of them together (its rows of `stall_company`)."""
    first = frame.row(0, named=True)
    label = _label(first, detail)
    together = frame.filter(pl.col("stall").is_null())
    moved = together.filter(pl.col("moved")).sort("place")
    name = grid_name(f"company.{first['step']}.{first['dbms']}.{first['repeat']}", frame)
    title = grid_title(f"What changed in the stalls of {first['step']}: {label}", frame)
    columns = ["in the stalls", "outside", "times", "95 % of the samples outside"]
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
    return grid.draw(palette)


def _label(row: dict[str, Any], detail: StepDetail) -> str:
    """The run of a row, with the mark of a step that did not complete."""
    label = row["dbms"] + (f" r{row['repeat']}" if repeats(detail.steadiness) > 1 else "")
    return str(label + ("" if row["step_status"] == "complete" else f" ({row['step_status']})"))


def _when(row: dict[str, Any]) -> str:
    """The seconds of the step that a stall took: 15, or 15 to 18 (4 s)."""
    first, last = row["from_s"], row["to_s"] - 1
    return f"{first:,}" if first == last else f"{first:,} to {last:,} ({row['seconds']:,} s)"


def _moves(company: pl.DataFrame, stall: int) -> str:
    """What moved most in one stall, in words."""
    if company.filter(pl.col("stall").is_null() & pl.col("moved").is_not_null()).is_empty():
        return "nothing was sampled"
    moved = company.filter((pl.col("stall") == stall) & pl.col("moved")).sort("place")
    words = [f"{shown(row['source'], row['series']).name} {_times(row)}" for row in moved.head(_NAMED).to_dicts()]
    more = f" and {len(moved) - _NAMED} more" if len(moved) > _NAMED else ""
    return ", ".join(words) + more if words else "nothing beyond its usual range"


def _times(row: dict[str, Any]) -> str:
    """How many times the mean outside; from nothing there is no such number."""
    if not row["other_mean"]:
        return "from 0"
    return f"{_number(row['stall_mean'] / row['other_mean'])}x"


def _number(value: float) -> str:
    """Three digits, more where the number has more before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
