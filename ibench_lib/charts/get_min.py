"""Seconds of the query that steps over what is not yet purged."""

from __future__ import annotations

import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl

from ibench_lib import theme
from ibench_lib.charts.drawing import finish, numbers, runs_of
from ibench_lib.frames import steps_of
from ibench_lib.theme import inert


def get_min_chart(frame: pl.DataFrame) -> go.Figure:
    """Seconds of get_min per step on a log scale (`get_min`): a line through the worst client, a dot for each."""
    figure = go.Figure()
    for label, position, rows in runs_of(frame.filter(pl.col("get_min_s").is_not_null())):
        colour, dash = theme.series(position)
        each = rows.explode("client_seconds")
        figure.add_scatter(
            x=[inert(step) for step in each["step"]],
            y=numbers(each["client_seconds"], 6),
            mode="markers",
            marker={"color": colour, "size": 5, "opacity": 0.55},
            showlegend=False,
            legendgroup=str(position),
            name=inert(f"{label}, each client"),
        )
        figure.add_scatter(
            x=[inert(step) for step in rows["step"]],
            y=numbers(rows["get_min_s"], 6),
            mode="lines+markers",
            legendgroup=str(position),
            name=inert(label),
            line={"color": colour, "dash": dash, "width": 2},
            marker={"size": 9},
        )
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=[inert(s) for s in steps_of(frame)])
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    return finish(figure, f"Seconds of get_min, {frame['setup'][0]}", x=None, y="seconds")
