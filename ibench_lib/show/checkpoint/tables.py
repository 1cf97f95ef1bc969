"""How full the redo log was, and the rate while it was full."""

from __future__ import annotations

import polars as pl

from ibench_lib.analysis.frames import by_position, rate_label, rows_of
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title
from ibench_lib.show.kit.table_cells import mark_notes, repeat_notes, status_cell, value_cells


@answers("checkpoint_limit", "No second was recorded.", by=["step", "setup"])
def checkpoint_table(frame: pl.DataFrame) -> Grid:
    """The checkpoint age of each dbms in one step (`checkpoint_limit`), and its rate while the redo log was full."""
    step = frame["step"][0]
    columns = [
        "limit (% of redo log)",
        "highest age (% of limit)",
        "flushed for it (% of time)",
        "full (% of time)",
        "full from (s)",
        "rate if full",
        "rate if not",
        "ratio",
    ]
    title = grid_title(f"Checkpoint age and {rate_label(frame, step)} in {step}", frame)
    grid = Grid(grid_name(f"checkpoint.{step}", frame), title, "dbms", columns)
    shown = frame.with_columns(
        limit_percent=100 * pl.col("limit_share"),
        age_percent=100 * pl.col("highest_age_share"),
        flushed_percent=100 * pl.col("flushed_seconds") / pl.col("sampled_seconds"),
        full_percent=100 * pl.col("full_log_seconds") / pl.col("sampled_seconds"),
        ratio=pl.col("rate_full") / pl.when(pl.col("rate_else") > 0).then(pl.col("rate_else")),
    )
    for name in by_position(frame):
        rows = rows_of(shown, name, step)
        shares = ("limit_percent", "age_percent", "flushed_percent", "full_percent")
        cells = value_cells(rows, *((share, ",.0f") for share in shares))
        # What a redo log that was never full, or always, does not have is none, and nothing that was not captured.
        known = [row for row in rows if row["step_status"] == "complete" and row["age_percent"] is not None]
        for column, spec in (("full_from_s", ",.0f"), ("rate_full", ",.0f"), ("rate_else", ",.0f"), ("ratio", ",.2f")):
            rows_with_value = [row for row in known if row[column] is not None]
            none = Cell("none") if known else Cell("-")
            cells.append(
                status_cell(rows) or (value_cells(rows_with_value, (column, spec))[0] if rows_with_value else none)
            )
        grid.rows.append((name, cells))
    grid.notes = [
        "The redo log is full in seconds in which the checkpoint age is at its limit: at 99 % of the age from which "
        "writers wait (where the server does not give that: at the age from which it flushes at any cost). ratio: the "
        "mean rate of these seconds divided by that of the others. flushed for it: most of the pages written were "
        "flushed for a checkpoint, which begins below the limit.",
        *repeat_notes(frame),
        *mark_notes(frame),
    ]
    return grid
