"""The time of the query that steps over rows that are not yet purged."""

from __future__ import annotations

from statistics import median

import polars as pl
from great_tables import GT

from ibench_lib.show.frames import by_position, measured, rows_of, steps_of
from ibench_lib.show.grid import Cell, Grid
from ibench_lib.show.table_cells import spread_notes, spread_text, status_cell
from ibench_lib.show.tables.naming import grid_name, grid_title
from ibench_lib.show.verdicts import FAR


def get_min_table(frame: pl.DataFrame, palette: str = "default") -> GT:
    """Seconds of the first SELECT min(transactionid) of each step, worst client (`get_min`), to three decimals."""
    steps = steps_of(frame)
    grid = Grid(grid_name("get-min-seconds", frame), grid_title("Seconds of get_min", frame), "dbms", steps)
    best: dict[str, float] = {}
    for step in steps:
        of_step = [median(found) for name in by_position(frame) if (found := measured(frame, name, step, "get_min_s"))]
        if of_step:
            best[step] = min(of_step)
    for name in by_position(frame):
        cells = []
        for step in steps:
            found = measured(frame, name, step, "get_min_s", any_status=True)
            if found:
                slow = step in best and median(found) > FAR * best[step]
                text = spread_text(rows_of(frame, name, step), "get_min_s", ",.3f", any_status=True)
                cells.append(Cell(text, "bad" if slow else None))
            else:
                cells.append(status_cell(rows_of(frame, name, step)) or Cell("not measured", "status"))
        grid.rows.append((name, cells))
    grid.notes = [
        f"▼ over {FAR:.0f} times the best of its column. Each figure is that of the slowest client.",
        *spread_notes(frame, "get_min_s"),
    ]
    return grid.draw(palette)
