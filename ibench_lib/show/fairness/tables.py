"""How evenly a server treats the clients of a write step."""

from __future__ import annotations

import polars as pl

from ibench_lib.analysis.frames import by_position, median_run, repeats, rows_of
from ibench_lib.metrics import METRICS
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title
from ibench_lib.show.kit.table_cells import mark_notes, repeat_notes, status_cell, value_text


@answers("fairness", "No write step to show.", by=["step", "setup"], long=True)
def fairness_table(frame: pl.DataFrame) -> Grid:
    """How far apart the clients of a write step finished (`fairness`): seconds and per cent of the fastest."""
    step = frame["step"][0]
    title = grid_title(f"Clients of {step}", frame)
    grid = Grid(
        grid_name(f"fairness.{step}", frame), title, "dbms", ["fastest (s)", "slowest (s)", "diff (s)", "pct (%)"]
    )
    shortest = frame["min_duration_s"].min()
    # As published where steps take hours: whole seconds. Short steps would lose their difference that way.
    style = ",.0f" if isinstance(shortest, float) and shortest >= 1000 else "," + METRICS["fairness_diff_s"].format
    if shortest is None and frame["diff_s"].is_not_null().any():
        style = ",g"  # nothing but what others have published: their digits
    for name in by_position(frame):
        rows = rows_of(frame, name, step)
        status = status_cell(rows)
        shown = median_run(rows, "diff_s")
        figures = [value_text(rows, column, style, shown) for column in ("min_duration_s", "max_duration_s", "diff_s")]
        figures.append(value_text(rows, "pct", METRICS["fairness_pct"].format, shown))
        grid.rows.append((name, [status or Cell(figure) for figure in figures]))
    grid.notes = [
        "Seconds from the common start to the end of the fastest and of the slowest client. diff is their difference "
        "(before rounding); pct is diff as a share of the fastest.",
        *_repeat_notes(frame),
        *mark_notes(frame),
    ]
    return grid


def _repeat_notes(frame: pl.DataFrame) -> list[str]:
    if repeats(frame) <= 1:
        return repeat_notes(frame)
    # Medians of each column would be of different runs, and contradict each other.
    return ["Each row is the run with the median diff."]
