"""Frames and traces for tests of charts."""

from dataclasses import replace
from typing import Any

import plotly.graph_objects as go
import polars as pl
import pytest

from ibench_lib.show.kit.drawing import Drawing
from tests.synthetic import Run


@pytest.fixture(autouse=True)
def checked_drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library does not let plotly check what it draws: that takes longer than to draw it."""
    figure = Drawing.figure

    def checked(drawing: Drawing) -> go.Figure:
        go.Figure({"data": drawing.data, "layout": drawing.layout})  # raises where plotly does not know what is in it
        return figure(drawing)

    monkeypatch.setattr(Drawing, "figure", checked)


def traces(figure: go.Figure, name: str) -> list[Any]:
    return [trace for trace in figure.data if trace.name == name]


def one(frame: pl.DataFrame, **values: str) -> pl.DataFrame:
    return frame.filter(*(pl.col(column) == value for column, value in values.items()))


def repeated() -> list[Run]:
    """Three repeats of one configuration, the last of them failed in qr100, and one run of another."""
    steps = ("l.i0", "l.x", "l.i1", "qr100")
    runs = [
        Run(repeat=n, minute=n, get_min_s=(0.001, 0.001, 0.001, s), history_list=(10, 20, h, 5))
        for n, s, h in ((1, 0.5, 300), (2, 0.75, 100), (3, 4.0, 900))
    ]
    runs[2] = replace(runs[2], status="failed", failed_step="qr100", steps=steps)
    return [*runs, Run("other", minute=5, history_list=(1, 2, 3, 4))]
