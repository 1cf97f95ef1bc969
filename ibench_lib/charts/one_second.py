"""Rates and worst responses of one step in every second: a panel for each dbms, one shared y axis."""

from __future__ import annotations

import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from ibench_lib import theme
from ibench_lib.chart_text import ASIDE
from ibench_lib.charts.drawing import add_band, finish, line_mode, numbers, runs_of
from ibench_lib.theme import inert

_CLIENT_INK = "rgba(91, 104, 117, 0.45)"


def rate_chart(frame: pl.DataFrame) -> go.Figure:
    """Rate of one operation in every second of one step (`one_second`): a panel per dbms, one shared y axis."""
    unit = {"insert": "inserts/s", "delete": "deletes/s", "query": "queries/s"}[frame["operation"][0]]
    return _panels(frame, unit, ("rate_min", "rate_mean", "rate_max"), 1)


def max_response_chart(frame: pl.DataFrame) -> go.Figure:
    """Worst response of one operation in every second of one step (`one_second`), in milliseconds; panels as above."""
    shown = frame.with_columns(worst_ms=pl.col("max_response_s") * 1e3)
    return _panels(shown, f"max {frame['operation'][0]} response (ms)", ("worst_ms", "worst_ms", "worst_ms"), 3)


def _panels(frame: pl.DataFrame, unit: str, columns: tuple[str, str, str], decimals: int) -> go.Figure:
    """One panel per run, all with the same axes: each client thin and grey, all clients together in colour."""
    runs = list(runs_of(frame))
    low, middle, high = columns
    figure = make_subplots(
        rows=len(runs),
        cols=1,
        shared_xaxes="all",
        shared_yaxes="all",
        vertical_spacing=min(0.12, 0.3 / max(len(runs), 1)),
        subplot_titles=[inert(label) for label, _, _ in runs],
    )
    for row, (label, position, rows) in enumerate(runs, start=1):
        colour, _ = theme.series(position)
        for client in rows["client"].drop_nulls().unique().sort():
            of_client = rows.filter(pl.col("client") == client)
            figure.add_scatter(
                x=of_client["t_s"].to_list(),
                y=numbers(of_client[middle], decimals),
                mode=line_mode(of_client[middle]),
                line={"color": _CLIENT_INK, "width": 1},
                marker={"color": _CLIENT_INK, "size": 5},
                name=f"client {client}",
                meta=ASIDE,
                showlegend=False,
                row=row,
                col=1,
            )
        total = rows.filter(pl.col("client").is_null())
        times = total["t_s"].to_list()
        if low != high and int(total["bucket_s"].max() or 1) > 1:  # type: ignore[arg-type]
            lower, upper = numbers(total[low], decimals), numbers(total[high], decimals)
            add_band(figure, times, lower, upper, colour, row=row, col=1)
        figure.add_scatter(
            x=times,
            y=numbers(total[middle], decimals),
            mode=line_mode(total[middle]),
            line={"color": colour, "width": 2},
            marker={"color": colour, "size": 7},
            name=inert(f"all clients, {label}"),
            showlegend=False,
            row=row,
            col=1,
        )
    figure.update_annotations(x=0, xanchor="left", font={"size": 12, "color": theme.QUIET})
    if frame[middle].drop_nulls().is_empty():
        # A step shorter than a second has no per-second rate; an empty panel alone would look like a fault.
        figure.add_annotation(
            text="the step has no full second", x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False
        )
    figure.update_layout(height=90 + 115 * len(runs))
    title = f"{unit}, {frame['step'][0]}, {frame['setup'][0]}"
    finish(figure, title, x=None, y=None, zero=True, width="half")
    figure.update_xaxes(rangemode="tozero")
    figure.update_xaxes(title_text="seconds of the step", row=len(runs), col=1)
    return figure
