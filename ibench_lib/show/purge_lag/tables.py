"""History list length at the end of each step."""

from __future__ import annotations

from statistics import median

import polars as pl

from ibench_lib.analysis.frames import by_position, measured, rows_of, steps_of
from ibench_lib.analysis.verdicts import FAR
from ibench_lib.metrics import METRICS
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title
from ibench_lib.show.kit.table_cells import spread_notes, spread_text, status_cell

_LEAST = 1000


@answers("purge_lag_at_step_end", "No step to show.")
def purge_lag_table(frame: pl.DataFrame) -> Grid:
    """History list length right after the last client's end of each step (`purge_lag_at_step_end`)."""
    steps = steps_of(frame)
    title = grid_title("History list length at the end of each step", frame)
    grid = Grid(grid_name("purge-lag-end", frame), title, "dbms", steps, words={"bad": "long"})
    for name in by_position(frame):
        grid.rows.append((name, []))
    flavours: dict[str, str | None] = dict(frame.select("dbms", "flavour").iter_rows())
    of = " among servers of its flavour" if len(set(flavours.values())) > 1 else ""
    for step in steps:
        column = "history_list_length"
        runs = {name: found for name in by_position(frame) if (found := measured(frame, name, step, column))}
        limits: dict[str | None, float] = {}
        for flavour in set(flavours.values()):
            mine = [median(found) for name, found in runs.items() if flavours[name] == flavour]
            limits[flavour] = max(FAR * min(mine, default=0), _LEAST)
        for name, cells in grid.rows:
            status = status_cell(rows_of(frame, name, step))
            if status or name not in runs:
                cells.append(status or Cell("not captured", "status"))
                continue
            text = spread_text(rows_of(frame, name, step), column, METRICS["hll"].format)
            cells.append(Cell(text, "bad" if min(runs[name]) > limits[flavours[name]] else None))
    grid.notes = [
        f"long: over {FAR:.0f}x the shortest of its column{of}, and over {_LEAST:,}, in every run.",
        *spread_notes(frame, "history_list_length"),
    ]
    return grid
