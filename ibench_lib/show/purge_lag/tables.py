"""History list length, and dead rows, at the end of each step: a table for each."""

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


@answers("purge_lag_at_step_end", "No step of a server with a history list.")
def purge_lag_table(frame: pl.DataFrame) -> Grid:
    """History list length right after the last client's end of each step (`purge_lag_at_step_end`)."""
    flavours: dict[str, str | None] = dict(frame.select("dbms", "flavour").iter_rows())
    return _at_step_end(frame, "history_list_length", "History list length", "purge-lag-end", flavours, "long")


@answers("dead_rows_at_step_end", "No step of a server that counts dead rows.")
def dead_rows_table(frame: pl.DataFrame) -> Grid:
    """Dead rows of servers that count them, in the last sample before each step's end (`dead_rows_at_step_end`)."""
    alike = dict.fromkeys(by_position(frame))
    grid = _at_step_end(frame, "dead_rows", "Dead rows", "dead-rows-end", alike, "many")
    grid.notes.append(
        "The server's estimates, in the last sample before the end: up to a second old, so what was deleted in that "
        "second may be missing. The next step can begin with more."
    )
    return grid


def _at_step_end(
    frame: pl.DataFrame, column: str, what: str, anchor: str, kinds: dict[str, str | None], word: str
) -> Grid:
    """`kinds`: which servers count alike. `word` marks what is far above the smallest."""
    steps = steps_of(frame)
    title = grid_title(f"{what} at the end of each step", frame)
    grid = Grid(grid_name(anchor, frame), title, "dbms", steps, words={"bad": word})
    for name in by_position(frame):
        grid.rows.append((name, []))
    of = " among servers of its flavour" if len(set(kinds.values())) > 1 else ""
    for step in steps:
        runs = {name: values for name in by_position(frame) if (values := measured(frame, name, step, column))}
        limits: dict[str | None, float] = {}
        for kind in set(kinds.values()):
            mine = [median(values) for name, values in runs.items() if kinds[name] == kind]
            limits[kind] = max(FAR * min(mine, default=0), _LEAST)
        for name, cells in grid.rows:
            status = status_cell(rows_of(frame, name, step))
            if status or name not in runs:
                cells.append(status or Cell("not captured", "status"))
                continue
            text = spread_text(rows_of(frame, name, step), column, METRICS["hll"].format)
            cells.append(Cell(text, "bad" if min(runs[name]) > limits[kinds[name]] else None))
    grid.notes = [
        f"{word}: over {FAR:.0f}x the smallest of its column{of}, and over {_LEAST:,}, in every run.",
        *spread_notes(frame, column),
    ]
    return grid
