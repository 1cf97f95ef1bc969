"""Tables of LinkBench: its rates by requesters, and its operations with their response times."""

from __future__ import annotations

import polars as pl
from great_tables import GT

from ibench_lib.show.against import against_base
from ibench_lib.show.frames import by_position, measured, rows_of, steps_of
from ibench_lib.show.grid import Cell, Grid
from ibench_lib.show.table_cells import (
    about_runs,
    interval_notes,
    mark_notes,
    ratio_cell,
    repeat_notes,
    status_cell,
    value_cells,
    value_text,
)
from ibench_lib.show.tables.naming import grid_name, grid_title
from ibench_lib.show.verdicts import BETTER, WORSE, ratio

_TIMES = ("p25", "p50", "p75", "p95", "p99", "p999", "max", "mean")


def requesters_table(frame: pl.DataFrame, base: str, palette: str = "default") -> GT:
    """Operations a second by requesters, absolute and relative to the base (`linkbench_summary`)."""
    steps = steps_of(frame)
    heads = [head for step in steps for head in (step, "relative")]
    title = grid_title("Operations/s by requesters", frame)
    grid = Grid(grid_name("requesters", frame), title, "dbms", heads)
    found = {(step, name): one for (_, step, _, name), one in against_base(frame, base, ["ops_per_s"]).items()}
    for name in by_position(frame):
        cells: list[Cell] = []
        for step in steps:
            rows = rows_of(frame, name, step)
            sides = (measured(frame, each, step, "ops_per_s") for each in (name, base))
            relative = found.get((step, name)) or ratio(*sides)
            status = status_cell(rows)
            cells.append(status or Cell(value_text(rows, "ops_per_s", ",.0f")))
            cells.append(status or ratio_cell(relative, about_runs(rows, "ops_per_s"), is_base=name == base))
        grid.rows.append((f"{name} (base)" if name == base else name, cells))
    grid.notes = [
        "A step's name has its number of requesters. The step control repeats the first of them after all others.",
        f"▲ above {BETTER}, ▼ below {WORSE} of the base.",
        *interval_notes(frame, found),
        *mark_notes(frame),
    ]
    return grid.draw(palette)


def linkbench_operations_table(frame: pl.DataFrame, palette: str = "default") -> GT:
    """The operations of one dbms and step: counts, shares, rows and response times (`linkbench_operations`)."""
    step, name = frame["step"][0], frame["dbms"][0]
    heads = [
        "operations",
        "share (%)",
        "rows/op",
        "p25 (ms)",
        "p50",
        "p75",
        "p95",
        "p99",
        "p99.9",
        "max",
        "mean",
        "repeats",
    ]
    title = grid_title(f"Operations of {name} in {step}", frame)
    grid = Grid(grid_name(f"operations.{step}.{name}", frame), title, "operation", heads)
    shown = frame.with_columns(**{f"{column}_ms": 1e3 * pl.col(f"{column}_s") for column in _TIMES})
    for operation in shown["operation"].unique(maintain_order=True):
        rows = rows_of(shown.filter(pl.col("operation") == operation), name, step)
        cells = value_cells(
            rows, ("done", ",.0f"), ("share", ".1f"), ("rows_per_op", ",.2f"),
            *((f"{column}_ms", ",.2f") for column in _TIMES), ("repeats", ",.0f"),
        )  # fmt: skip
        grid.rows.append((operation, cells))
    grid.notes = [
        "Response times include all statements and all repeats of an operation. A percentile needs enough responses: "
        "p99 needs 100.",
        "Rows of a write: 1 for a link that came to be shown or hidden, or a node that was changed, else 0.",
        *repeat_notes(frame),
        *mark_notes(frame),
    ]
    return grid.draw(palette)


def requester_fairness_table(frame: pl.DataFrame, palette: str = "default") -> GT:
    """Operations of a requester in the processes that did least and most, in one step (`linkbench_summary`)."""
    step = frame["step"][0]
    heads = ["requesters", "least", "most", "repeats per 1000"]
    grid = Grid(
        grid_name(f"fairness.{step}", frame), grid_title(f"Operations of a requester in {step}", frame), "dbms", heads
    )
    for name in by_position(frame):
        rows = rows_of(frame, name, step)
        cells = value_cells(
            rows, ("requesters", ",.0f"), ("least", ",.0f"), ("most", ",.0f"), ("repeats_per_1000", ",.2f")
        )
        grid.rows.append((name, cells))
    grid.notes = [
        "Averages over the requesters of the process in which they are lowest and highest; requesters of one process "
        "are not told apart.",
        "An operation is repeated with the same input after a deadlock (1213), a lock wait timeout (1205), or a row "
        "that has changed since its read view (1020).",
        *repeat_notes(frame),
        *mark_notes(frame),
    ]
    return grid.draw(palette)
