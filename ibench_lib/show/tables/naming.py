"""How a table of one setup is named and titled, and the empty grid of dbms x steps."""

from __future__ import annotations

import polars as pl

from ibench_lib.metrics import METRICS
from ibench_lib.show.frames import main_metric, steps_of
from ibench_lib.show.grid import Grid


def grid_title(text: str, frame: pl.DataFrame) -> str:
    return f"{text}, {frame['setup'][0]}"


def grid_name(text: str, frame: pl.DataFrame) -> str:
    return f"{text}.{frame['setup'][0]}"


def step_grid(frame: pl.DataFrame, name: str, title: str) -> tuple[list[str], Grid]:
    """The steps of a frame and an empty grid of dbms x steps, each step under its metric."""
    steps = steps_of(frame)
    spanners = []
    for metric in ("ips", "qps"):
        positions = [position for position, step in enumerate(steps) if main_metric(frame, step) == metric]
        if positions:
            spanners.append((METRICS[metric].label, positions))
    return steps, Grid(grid_name(name, frame), grid_title(title, frame), "dbms", steps, spanners=spanners)
