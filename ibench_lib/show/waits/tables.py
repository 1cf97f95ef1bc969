"""Waits inside the server: the top events of each dbms in one step."""

from __future__ import annotations

import polars as pl

from ibench_lib.analysis.frames import by_position, rows_of
from ibench_lib.base.wording import count
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title
from ibench_lib.show.kit.table_cells import mark_notes, repeat_notes, value_text

MOST_EVENTS = 15


@answers("waits", "No waits were captured.", by=["setup", "step", "source"])
def waits_table(frame: pl.DataFrame, most: int = MOST_EVENTS) -> Grid:
    """The events of one step and source that cost most, per 1,000 of what the step's rate counts (`waits`)."""
    step, source, timed = frame["step"][0], frame["source"][0], frame["timed"][0]
    names = by_position(frame)
    column = "ms_per_1000" if timed else "waits_per_1000"
    unit = f"{'ms' if timed else 'waits'} per 1,000 {frame['unit'][0]}"
    title = grid_title(f"Top waits in {step}, {unit}", frame)
    grid = Grid(grid_name(f"waits.{source}.{step}", frame), title, "event", names)
    for event in _top_events(frame, most):
        of_event = frame.filter(pl.col("event") == event)
        cells = []
        for name in names:
            rows = rows_of(of_event, name, step)
            cells.append(Cell(value_text(rows, column, ",.2f") if rows else "-"))
        grid.rows.append((event, cells))
    covered = sorted(frame["seconds"].drop_nulls().to_list())
    lengths = list(dict.fromkeys(f"{seconds:.0f}" for seconds in (*covered[:1], *covered[-1:])))
    over = f", over {' to '.join(lengths)} s of the step" if lengths else ""
    grid.notes = [
        f"From {_source_name(source)}{over}.",
        "performance_schema times every acquisition, waited for or not, so the times overstate the waits."
        if timed
        else "This server counts these waits and does not time them. A mutex is named by the line that creates it.",
        "-: no wait with this name in any run. A run without it counts as 0.",
        *repeat_notes(frame),
        *mark_notes(frame),
    ]
    return grid


@answers("waits_captured", "No step to show.")
def waits_captured_table(frame: pl.DataFrame) -> Grid:
    """Which sources of waits each dbms has in one setup, and why not (`waits_captured`)."""
    grid = Grid(
        grid_name("waits-captured", frame),
        grid_title("Captured waits", frame),
        "dbms",
        ["source", "captured"],
        left=True,
    )
    for name in by_position(frame):
        of_name = frame.filter(pl.col("dbms") == name)
        for source in of_name["source"].unique(maintain_order=True):
            rows = of_name.filter(pl.col("source") == source)
            reasons = rows["reason"].drop_nulls().unique(maintain_order=True).to_list()
            done = int(rows["captured"].sum())
            every = done == len(rows) > 1
            text = f"in all {done:,} steps" if every else f"in {done} of {count(len(rows), 'step')}"
            said = "; ".join([text if done else "no", *reasons])
            grid.rows.append((name, [Cell(_source_name(source)), Cell(said)]))
    grid.notes = ["Only a step of 20 s or more is certain to contain a whole interval of 10 s."]
    return grid


def _top_events(frame: pl.DataFrame, most: int) -> list[str]:
    """The events of one step and source that cost any dbms most, the costliest first."""
    column = "ms_per_1000" if frame["timed"][0] else "waits_per_1000"
    by_dbms = frame.group_by("dbms", "event").agg(pl.col(column).median())
    highest = by_dbms.group_by("event").agg(pl.col(column).max()).sort([column, "event"], descending=[True, False])
    return list(highest["event"].head(most))


def _source_name(source: str) -> str:
    """A source as people know it."""
    return {"innodb_mutex": "SHOW ENGINE INNODB MUTEX"}.get(source, source)
