"""The checks of the server's data that workloads made after their steps."""

from __future__ import annotations

import polars as pl

from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title
from ibench_lib.show.kit.theme import Mark


@answers("checks", "No check was recorded.")
def checks_table(frame: pl.DataFrame) -> Grid:
    """How many checks of each kind were made in a setup, and which did not hold (`checks`)."""
    columns = ["check", "runs", "made", "held", "did not hold", "s"]
    grid = Grid(
        grid_name("checks", frame),
        grid_title("Checks of the server's data", frame),
        "step",
        columns,
        left=True,
        words={},
    )
    for row in frame.to_dicts():
        numbers = (f"{row[column]:,}" for column in ("runs", "checks", "held"))
        broken = "; ".join(row["not_held"]) or "-"
        if row["broken_by"] and row["not_held"]:
            broken += f" (a defect of {row['broken_by']})"
        mark: Mark | None = None if row["held"] == row["checks"] else "bad"
        grid.rows.append(
            (row["step"], [Cell(row["rule"]), *map(Cell, numbers), Cell(broken, mark), Cell(f"{row['seconds']:.1f}")])
        )
    grid.notes = [
        "rows: COUNT(*) of a table; ledger: sums that must match the clients' acknowledged work; s: total time of the "
        "check queries."
    ]
    return grid
