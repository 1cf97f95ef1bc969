"""Further metrics of one step."""

from __future__ import annotations

import polars as pl
from great_tables import GT

from ibench_lib.cells import (
    mark_notes,
    repeat_notes,
    status_cell,
    value_text,
)
from ibench_lib.frames import by_position, rows_of
from ibench_lib.grid import Cell, Grid
from ibench_lib.metrics import METRICS
from ibench_lib.tables.naming import grid_name, grid_title


def step_metrics_table(frame: pl.DataFrame, palette: str = "default") -> GT:
    """Further metrics of one step (`step_throughput`): T, rates, worst response, history list, client CPU."""
    step = frame["step"][0]
    known = {"ips": "ips", "dps": "dps", "qps": "qps", "maxop": "maxop_s", "hll": "history_list_length"}
    known["ccpupq"] = "ccpupq_us"
    shown = {metric: column for metric, column in known.items() if frame[column].is_not_null().any()}
    units = {"s": " (s)", "us": " (us)"}
    columns = ["T (s)", *(METRICS[metric].label + units.get(METRICS[metric].unit, "") for metric in shown)]
    grid = Grid(grid_name(f"metrics.{step}", frame), grid_title(f"Metrics of {step}", frame), "dbms", columns)
    for name in by_position(frame):
        rows = rows_of(frame, name, step)
        figures = [value_text(rows, "duration_s", ",.1f")]
        figures += [value_text(rows, column, METRICS[metric].format) for metric, column in shown.items()]
        grid.rows.append((name, [status_cell(rows) or Cell(figure) for figure in figures]))
    grid.notes = [*repeat_notes(frame), *mark_notes(frame)]
    return grid.draw(palette)
