"""How throughput went over the time of one step, in tenths."""

from __future__ import annotations

from statistics import median

import polars as pl

from ibench_lib.analysis.frames import by_position, rate_label, rows_of
from ibench_lib.metrics import METRICS
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title
from ibench_lib.show.kit.table_cells import about_runs, mark_notes, repeat_notes, status_cell

_TENTHS = 10


@answers(
    "rate_by_tenth", "No step has ten full seconds.", by=["step", "setup"], fold="The rate in each tenth of a step"
)
def rate_by_tenth_table(frame: pl.DataFrame) -> Grid:
    """Throughput in each tenth of one step (`rate_by_tenth`), and what is under half of the row's median tenth."""
    step = frame["step"][0]
    spec = METRICS["throughput"].format
    grid = Grid(
        grid_name(f"tenths.{step}", frame),
        grid_title(f"{rate_label(frame, step)} in each tenth of {step}", frame),
        "dbms",
        [str(tenth) for tenth in range(1, _TENTHS + 1)],
        words={"bad": "low"},
    )
    for name in by_position(frame):
        rows = rows_of(frame, name, step)
        runs = [row["rates"] for row in rows if row["step_status"] == "complete" and row["rates"] is not None]
        status = status_cell(rows)
        if status or not runs:
            cells = [status or Cell("too short", "status")] * _TENTHS
        else:
            rates = [median(run[tenth] for run in runs) for tenth in range(_TENTHS)]
            low = median(rates) / 2
            cells = [Cell(format(rate, spec), "bad" if rate < low else None) for rate in rates]
        # All ten are of the same runs: what there is to say of these stands once, at the name.
        grid.rows.append((name if cells[0].mark == "status" else name + about_runs(rows, "rates"), cells))
    grid.notes = [
        "Mean rate of all clients together in each tenth of the step's full seconds.",
        "low: below half of the median tenth.",
        *repeat_notes(frame),
        *mark_notes(frame),
    ]
    return grid
