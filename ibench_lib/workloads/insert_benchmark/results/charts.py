"""The time of the query that steps over rows that are not yet purged."""

from __future__ import annotations

import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl

from ibench_lib.analysis.frames import repeats, steps_of
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.drawing import dbms_of, finish, numbers, runs_of
from ibench_lib.show.kit.theme import inert

_TICKS = {
    unit * 10**power: f"{10**power} {name}"
    for unit, name in ((1e-6, "us"), (1e-3, "ms"), (1.0, "s"))
    for power in range(3)
}
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star")


@answers("get_min", "No query to draw.")
def get_min_chart(frame: pl.DataFrame) -> go.Figure:
    """Seconds of get_min per step on a log scale (`get_min`), worst client: a large dot is the median of the repeats.

    Small dots are the repeats or, for a single run, its clients. No line joins steps: they are no series.
    """
    figure = go.Figure()
    shown = frame.filter(pl.col("get_min_s").is_not_null())
    several = repeats(shown) > 1 if len(shown) else False
    for label, position, rows in dbms_of(shown) if several else runs_of(shown):
        colour, _ = theme.series(position)
        dots = rows if several else rows.explode("client_seconds").with_columns(get_min_s="client_seconds")
        figure.add_scatter(
            x=[inert(step) for step in dots["step"]],
            y=numbers(dots["get_min_s"], 6),
            mode="markers",
            marker={"color": colour, "size": 5, "opacity": 0.55},
            showlegend=False,
            legendgroup=str(position),
            name=inert(f"{label}, each {'run' if several else 'client'}"),
        )
        medians = rows.group_by("step_id", "step").agg(pl.col("get_min_s").median()).sort("step_id")
        figure.add_scatter(
            x=[inert(step) for step in medians["step"]],
            y=numbers(medians["get_min_s"], 6),
            mode="markers",
            legendgroup=str(position),
            name=inert(label),
            marker={"color": colour, "size": 10, "symbol": _SYMBOLS[position % len(_SYMBOLS)]},
        )
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=[inert(s) for s in steps_of(frame)])
    figure.update_yaxes(type="log", tickvals=list(_TICKS), ticktext=list(_TICKS.values()))
    if (frame["get_min_s"] == 0).any():
        text = "queries that took 0 seconds are not on this scale"
        figure.add_annotation(text=text, x=0, y=1.02, xref="paper", yref="paper", showarrow=False, xanchor="left")
    return finish(figure, f"Seconds of get_min, {frame['setup'][0]}", x=None, y="time of the query")


@answers("get_min_dead_rows", "No query was timed next to dead rows.")
def get_min_dead_rows_chart(frame: pl.DataFrame) -> go.Figure:
    """Time of get_min over the dead rows before it (`get_min_dead_rows`), both on log scales: a point for each step.

    Points of several runs are medians. No dead row is drawn as one.
    """
    figure = go.Figure()
    known = frame.filter(pl.col("get_min_s") > 0, pl.col("dead_rows").is_not_null(), step_status="complete")
    for label, position, rows in dbms_of(known):
        colour, dash = theme.series(position)
        of_steps = rows.group_by("step").agg(pl.col("dead_rows", "get_min_s").median()).sort("dead_rows", "step")
        figure.add_scatter(
            x=[max(value, 1.0) for value in numbers(of_steps["dead_rows"], 0)],
            y=numbers(1e3 * of_steps["get_min_s"], 3),
            text=[inert(step) for step in of_steps["step"]],
            mode="lines+markers+text",
            textposition="top center",
            name=inert(label),
            line={"color": colour, "dash": dash, "width": 2},
        )
    where = f", {frame['setup'][0]}" if len(frame) else ""
    finish(figure, f"get_min by dead rows{where}", x="dead rows before the step", y="get_min (ms)")
    figure.update_xaxes(type="log", rangemode="normal")
    return figure.update_yaxes(type="log")
