"""Two dbms, A and B, side by side: what differs in what they were given, and every metric with its ratio."""

from __future__ import annotations

from statistics import median
from typing import Any

import polars as pl

from ibench_lib.analysis.comparison import DIFFERENT, UNJUDGED, Comparison, compared
from ibench_lib.show.compare.comparison import reservations, side_text
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title
from ibench_lib.show.kit.table_cells import (
    NOT_RECORDED,
    NOT_YET_KNOWN,
    coverage_notes,
    factor_text,
    point_text,
    setting_text,
    size_text,
)
from ibench_lib.show.kit.theme import Mark
from ibench_lib.show.kit.wording import POWERED, RANGE, change_text, method_said

_TINY = "too small"
_MARKS: dict[str | None, Mark] = {"better": "good", "worse": "bad", "more": "status", "less": "status"}
_SOURCES = {
    "variable": ("variables", "Server variables that differ"),
    "host": ("hosts", "Facts of the host that differ"),
    "workload": ("workloads", "Not the same workload"),
}


def options_side_by_side(frame: pl.DataFrame, a: str, b: str) -> Grid:
    """Options of my.cnf that differ (`config_diff`), and which line of which fragment set them."""
    columns = ["A", "set by", "B", "set by"]
    title = grid_title("Options of my.cnf that differ", frame)
    grid = Grid(grid_name("options", frame), title, "option", columns, spanners=_sides(a, b, 2), left=True)
    for row in frame.to_dicts():
        texts = (setting_text(row["base_value"]), row["base_origin"], setting_text(row["value"]), row["origin"])
        grid.rows.append((row["option"], [Cell(text or "") for text in texts]))
    return grid


def facts_side_by_side(frame: pl.DataFrame, a: str, b: str) -> Grid:
    """Variables, or facts of the host or the workload, that differ (`fact_diff`, one source of it)."""
    name, title = _SOURCES[frame["source"][0]]
    grid = Grid(
        grid_name(name, frame), grid_title(title, frame), frame["source"][0], ["A", "B"], spanners=_sides(a, b, 1),
        left=True,
    )  # fmt: skip
    for row in frame.to_dicts():
        cells = [Cell(_found(row["base_values"])), Cell(_found(row["dbms_values"]))]
        grid.rows.append((row["fact"], cells))
    if any(len(values) > 1 for values in (*frame["base_values"], *frame["dbms_values"])):
        grid.notes.append("Several values in a cell: the runs of that side differ from each other.")
    return grid


def metrics_side_by_side(frame: pl.DataFrame, a: str, b: str) -> Grid:
    """Every metric of one step (`metric_values`): medians of A and B, their ratio, its interval, a verdict."""
    shown = [one for one in compared(frame, a, b) if one.a_rows or one.b_rows]
    responses = frame["operation"].is_not_null().any()
    what = "Response times" if responses else "Metrics"
    grid = Grid(
        grid_name(f"{'responses' if responses else 'metrics'}.{frame['step'][0]}", frame),
        grid_title(f"{what} of {frame['step'][0]}", frame),
        "metric",
        ["A", "B", "B / A", "interval", "verdict", "would be found"],
        spanners=_sides(a, b, 1),
        words={},
    )
    with_value = [one for one in shown if one.a or one.b]
    for one in with_value:
        cells = [_value(one, one.a_rows, frame, a), _value(one, one.b_rows, frame, b), *_relation(one)]
        grid.rows.append((one.head, cells))
    if not with_value:
        grid.rows.append(("all", [*(Cell(_status(frame, name), "status") for name in (a, b)), *[Cell("")] * 4]))
    coverage = coverage_notes(frame) if any(one.metric.group in ("cost", "device") for one in shown) else []
    grid.notes = [*_notes(shown), *_missing(shown), *coverage, *reservations(frame, a, b)]
    return grid


def _sides(a: str, b: str, width: int) -> list[tuple[str, list[int]]]:
    return [(a, list(range(width))), (b, list(range(width, 2 * width)))]


def _found(values: list[str | None]) -> str:
    return " | ".join("not there" if value is None else value or "(empty)" for value in values)


def _value(one: Comparison, rows: list[dict[str, Any]], frame: pl.DataFrame, name: str) -> Cell:
    status = _status(frame, name)
    if status != "complete":
        return Cell(status, "status")
    if not rows:
        return Cell("none", "status")
    text = side_text(one, rows)
    if one.metric.name in ("table_data", "table_index"):
        text = size_text(text, rows)
    return Cell(
        {"-": "not captured"}.get(text, text),
        "status" if text in ("-", NOT_RECORDED, NOT_YET_KNOWN) else None,
    )


def _status(frame: pl.DataFrame, name: str) -> str:
    """`complete` if a run of the dbms completed the step, else how its runs stand."""
    statuses = frame.filter(pl.col("dbms") == name)["step_status"].unique().sort().to_list()
    if statuses:
        return "complete" if "complete" in statuses else ", ".join(statuses)
    # A step that was not run has figures to be asked for, but no responses.
    return "no response" if frame["operation"].is_not_null().any() else "no run"


def _relation(one: Comparison) -> list[Cell]:
    if not one.a or not one.b:
        return [Cell("")] * 4
    if one.is_tiny and max(*one.a, *one.b) > 0:
        return [Cell(_TINY, "status"), *[Cell("")] * 3]
    if one.ratio is None:
        point, interval = ("both 0" if median(one.b) == 0 else "A is 0"), ""
    else:
        point = point_text(one.ratio)
        interval = (
            "" if one.ratio.low is None else f"{factor_text(one.ratio.low)} to {factor_text(one.ratio.high or 0)}"
        )
    if one.verdict == "noise unknown":
        interval = "one run"
    detectable = "" if one.detectable is None or one.verdict in DIFFERENT else change_text(one.detectable)
    return [Cell(point), Cell(interval), Cell(one.verdict or "", _MARKS.get(one.verdict)), Cell(detectable)]


def _up_to(numbers: set[int]) -> str:
    """3, or up to 3 where some have fewer."""
    known = numbers - {0}
    return f"{'up to ' if len(known) > 1 else ''}{max(known, default=0)}"


def _notes(shown: list[Comparison]) -> list[str]:
    verdicts = {one.verdict for one in shown}
    notes = []
    if verdicts - {*UNJUDGED}:
        ratios = [one.ratio for one in shown if one.ratio]
        of_a, of_b = (_up_to({len(side) for side in sides}) for sides in ([o.a for o in shown], [o.b for o in shown]))
        notes.append(
            f"A, B: medians of {of_a} and {of_b} runs. {method_said(ratios)} Would be found: the "
            f"smallest change that repeats like these detect ({POWERED})."
        )
    if any(one.a and one.b and one.is_tiny and max(*one.a, *one.b) > 0 for one in shown):
        notes.append(f"{_TINY.capitalize()}: both sides are less than the last digit shown.")
    if "too few runs" in verdicts:
        notes.append(f"A side has only two runs, and {RANGE}")
    if "noise unknown" in verdicts:
        notes.append("A side has only one run: the noise is unknown, so there is no verdict.")
    return notes


def _missing(shown: list[Comparison]) -> list[str]:
    """Metrics that no row is shown for, though a side completed the step."""
    labels_of: dict[bool, list[str]] = {}
    for one in shown:
        done = [row for row in (*one.a_rows, *one.b_rows) if row["step_status"] == "complete"]
        if not one.a and not one.b and done:
            lag = one.metric.name in ("table_data", "table_index") and all(row.get("statistics_lag") for row in done)
            labels_of.setdefault(lag, []).append(one.label)
    notes = [f"Not known of either side: {', '.join(labels_of[False])}."] if False in labels_of else []
    if True in labels_of:
        notes.append(f"{NOT_YET_KNOWN.capitalize()} to the statistics of either server: {', '.join(labels_of[True])}.")
    return notes
