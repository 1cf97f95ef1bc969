"""Achieved rates of rate-limited steps beside their target."""

from __future__ import annotations

import polars as pl
from great_tables import GT

from ibench_lib.metrics import METRICS
from ibench_lib.show.frames import by_position, rows_of, steps_of
from ibench_lib.show.grid import Cell, Grid
from ibench_lib.show.table_cells import mark_notes, status_cell, value_text
from ibench_lib.show.tables.naming import grid_name, grid_title


def sla_table(frame: pl.DataFrame, palette: str = "default") -> GT:
    """Achieved insert and delete rates of rate-limited steps beside their target (`sla`)."""
    steps = steps_of(frame)
    columns = [what for _ in steps for what in ("inserts/s", "deletes/s")]
    spanners = [(step, (2 * position, 2 * position + 1)) for position, step in enumerate(steps)]
    grid = Grid(
        grid_name("sla", frame), grid_title("Background inserts and deletes", frame), "dbms", columns, spanners=spanners
    )
    targets = []
    for step in steps:
        known = frame.filter((pl.col("step") == step) & pl.col("target_per_s").is_not_null())["target_per_s"]
        # Experiments that share a setup may differ in their target.
        texts = dict.fromkeys(format(target, ",.0f") for target in known.unique().sort())
        targets += [Cell(" or ".join(texts) or "unknown")] * 2
    grid.rows.append(("target", targets))
    for name in by_position(frame):
        cells = []
        for step in steps:
            rows = rows_of(frame, name, step)
            status = status_cell(rows)
            for metric in ("ips", "dps"):
                missed = any(row["step_status"] == "complete" and row[f"{metric}_missed"] for row in rows)
                text = value_text(rows, metric, METRICS[metric].format)
                cells.append(status or Cell(text, "sla_failed" if missed else None))
        grid.rows.append((name, cells))
    grid.notes = ["✕ below 0.95 of the target, which is clients x rate.", *mark_notes(frame)]
    return grid.draw(palette)
