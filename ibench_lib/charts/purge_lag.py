"""History list length over time and at the end of each step."""

from __future__ import annotations

import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl

from ibench_lib import theme
from ibench_lib.charts.drawing import add_band, finish, numbers, runs_of
from ibench_lib.frames import steps_of
from ibench_lib.theme import inert


def purge_lag_chart(frame: pl.DataFrame) -> go.Figure:
    """History list length over the time of one step, all dbms together (`purge_lag_series`).

    Where several samples share a point, the line is their mean and the band reaches from their min to their max.
    """
    figure = go.Figure()
    for label, position, rows in runs_of(frame):
        colour, dash = theme.series(position)
        times = numbers(rows["t_s"], 2)
        if int(rows["bucket_samples"].max() or 1) > 1:  # type: ignore[arg-type]
            add_band(figure, times, numbers(rows["hll_min"], 0), numbers(rows["hll_max"], 0), colour)
        figure.add_scatter(
            x=times,
            y=numbers(rows["hll_mean"], 1),
            mode="lines" if len(rows) > 1 else "markers",
            name=inert(label),
            line={"color": colour, "dash": dash, "width": 2},
        )
    title = f"History list length during {frame['step'][0]}, {frame['setup'][0]}"
    return finish(figure, title, x="seconds of the step", y="history list length", zero=True)


def purge_lag_end_chart(frame: pl.DataFrame) -> go.Figure:
    """History list length at the end of each step (`purge_lag_at_step_end`), one group of bars a step."""
    figure = go.Figure()
    steps = steps_of(frame)
    for label, position, rows in runs_of(frame):
        colour, _ = theme.series(position)
        values = dict(rows.select("step", "history_list_length").iter_rows())
        figure.add_bar(
            x=[inert(step) for step in steps],
            y=[values.get(step) for step in steps],
            name=inert(label),
            marker={"color": colour},
        )
    figure.update_xaxes(type="category")
    title = f"History list length at the end of each step, {frame['setup'][0]}"
    return finish(figure, title, x=None, y="history list length", zero=True)
