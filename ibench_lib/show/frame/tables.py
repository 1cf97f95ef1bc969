"""Any frame as a table."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import polars as pl

from ibench_lib.show.kit.grid import Cell, Grid

_DIGITS = 6


def frame_table(frame: pl.DataFrame, title: str = "", most: int = 200) -> Grid:
    """The first rows of any frame, such as an answer or a result of SQL, with numbers of six digits.

    Parameters
    ----------
    most : how many rows to show; a line below the table says how many there are.
    """
    grid = Grid("frame", title, "", frame.columns)
    shown = frame.head(most)
    grid.rows = [(str(number), [Cell(_text(value)) for value in row]) for number, row in enumerate(shown.rows(), 1)]
    texts = [column for column in frame.columns if not frame[column].dtype.is_numeric()]
    if len(frame) > most:
        grid.notes.append(f"The first {most:,} of {len(frame):,} rows.")
    grid.left = [frame.columns.index(column) for column in texts]
    return grid


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.{_DIGITS}g}" if abs(value) < 10**_DIGITS else f"{value:,.0f}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return f"{value:,}" if type(value) is int else str(value)
