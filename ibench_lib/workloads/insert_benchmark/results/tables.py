"""How the benchmark differs from the original, and the time of the query that steps over rows not yet purged."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from ibench_lib.analysis.frames import by_position, measured, rows_of, steps_of
from ibench_lib.analysis.verdicts import FAR
from ibench_lib.metrics import METRICS
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title
from ibench_lib.show.kit.table_cells import spread_notes, spread_text, status_cell


@answers("workload", "No run was made with ibench.", by=[])
def deviations_table(frame: pl.DataFrame) -> Grid:
    """How the runs (`workload`) differ from the benchmark's original client, for all editions that they are of."""
    known, editions = _deviations(), set(frame["edition"])
    title = f"How these runs differ from {known['original']}"
    grid = Grid("deviations", title, "what", ["in the original", "in these runs"], left=True)
    for row in known["deviations"]:
        of_these = editions & set(row.get("editions", editions))
        if of_these:
            only = "" if of_these == editions else f" (runs of edition {', '.join(map(str, sorted(of_these)))} only)"
            grid.rows.append((row["what"], [Cell(row["original"]), Cell(row["here"] + only)]))
    return grid


@cache
def _deviations() -> dict[str, Any]:
    """The list of them, the only one. docs/measurement.md has those of the last edition, by a test."""
    deviations: dict[str, Any] = json.loads((Path(__file__).parent / "deviations.json").read_text(encoding="utf-8"))
    return deviations


@answers("get_min", "No query was timed.")
def get_min_table(frame: pl.DataFrame) -> Grid:
    """Seconds of the first SELECT min(transactionid) of each step, worst client (`get_min`), to three decimals."""
    steps = steps_of(frame)
    grid = Grid(
        grid_name("get-min-seconds", frame),
        grid_title("Seconds of get_min", frame),
        "dbms",
        steps,
        words={"bad": "slow"},
    )
    best: dict[str, float] = {}
    for step in steps:
        of_step = [
            median(values) for name in by_position(frame) if (values := measured(frame, name, step, "get_min_s"))
        ]
        if of_step:
            best[step] = min(of_step)
    for name in by_position(frame):
        cells = []
        for step in steps:
            values = measured(frame, name, step, "get_min_s", any_status=True)
            if values:
                slow = step in best and min(values) > FAR * best[step]
                text = spread_text(rows_of(frame, name, step), "get_min_s", ",.3f", any_status=True)
                cells.append(Cell(text, "bad" if slow else None))
            else:
                cells.append(status_cell(rows_of(frame, name, step)) or Cell("not measured", "status"))
        grid.rows.append((name, cells))
    grid.notes = [
        f"slow: over {FAR:.0f}x the best of its column, in every run. Each figure is that of the slowest client.",
        *spread_notes(frame, "get_min_s"),
    ]
    return grid


@answers("get_min_dead_rows", "No query was timed next to dead rows.", by=["setup", "dbms"])
def get_min_dead_rows_table(frame: pl.DataFrame) -> Grid:
    """Dead rows before each step, what get_min took, and what it takes to plan a delete (`get_min_dead_rows`)."""
    name = frame["dbms"][0]
    grid = Grid(
        grid_name(f"get-min-dead-rows.{name}", frame),
        grid_title(f"get_min next to dead rows, {name}", frame),
        "before step",
        ["dead rows", "get_min (ms)", "planning a delete (ms)", "blocks read for it"],
        words={"bad": "slow"},
    )
    milliseconds = frame.with_columns(pl.col("get_min_s", "plan_delete_s") * 1e3)
    shown = (
        ("dead_rows", METRICS["hll"].format),
        ("get_min_s", ",.2f"),
        ("plan_delete_s", ",.2f"),
        ("plan_delete_blocks", ",.0f"),
    )
    steps = steps_of(frame)
    with_rows = frame.filter(pl.col("existing_rows") > 0)  # in an empty table the query has nothing to step over
    medians = [median(values) for step in steps if (values := measured(with_rows, name, step, "get_min_s"))]
    limit = FAR * min(medians, default=0.0)
    for step in steps:
        rows = rows_of(milliseconds, name, step)
        cells = [
            Cell(spread_text(rows, column, spec, any_status=True))
            if any(row[column] is not None for row in rows)
            else Cell("-", "status")
            for column, spec in shown
        ]
        values = measured(frame, name, step, "get_min_s")
        if values and min(values) > limit:
            cells[1] = Cell(cells[1].text, "bad")
        grid.rows.append((step, cells))
    grid.notes = [
        f"slow: over {FAR:.0f}x the fastest step that began with rows, in every run. "
        "Each figure is that of the slowest client.",
        "The planner looks for the ends of the keys' range, so it steps over dead rows, too. -: no delete is planned.",
        *spread_notes(frame, "get_min_s"),
    ]
    return grid
