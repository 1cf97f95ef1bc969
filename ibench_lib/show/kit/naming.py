"""How a table of one setup is named and titled, and the empty grid of dbms x steps."""

from __future__ import annotations

from itertools import groupby

import polars as pl

from ibench_lib.analysis.frames import rate_label, steps_of
from ibench_lib.show.kit.grid import Grid


def grid_title(text: str, frame: pl.DataFrame) -> str:
    """The heading of a table of one setup."""
    return f"{text}, {frame['setup'][0]}"


def grid_name(text: str, frame: pl.DataFrame) -> str:
    """The id of a table of one setup."""
    return f"{text}.{frame['setup'][0]}"


def step_grid(frame: pl.DataFrame, name: str, title: str) -> tuple[list[str], Grid]:
    """The steps of a frame and an empty grid of dbms x steps, each step under the name of its rate."""
    steps = steps_of(frame)
    labels = enumerate(rate_label(frame, step) for step in steps)
    alike = groupby(labels, key=lambda item: item[1])
    spanners = [(label, [position for position, _ in items]) for label, items in alike]
    return steps, Grid(grid_name(name, frame), grid_title(title, frame), "dbms", steps, spanners=spanners)
