"""Rates and worst responses of one step in every second: a panel for each dbms, one shared y axis."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from ibench_lib import theme
from ibench_lib.chart_text import ASIDE
from ibench_lib.charts.drawing import add_band, finish, line_mode, numbers, runs_of
from ibench_lib.frames import by_position
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
    """One panel per run, all with the same axes: each client thin and grey, all clients together in colour.

    A row of panels a dbms, a column a repeat.
    """
    if frame["rate_mean"].drop_nulls().is_empty():
        return _no_full_second(frame, f"{unit}, {frame['step'][0]}, {frame['setup'][0]}")
    names, numbered = by_position(frame), frame["repeat"].unique().sort().to_list()
    low, middle, high = columns
    figure = make_subplots(
        rows=len(names),
        cols=len(numbered),
        shared_xaxes="all",
        shared_yaxes="all",
        vertical_spacing=min(0.12, 0.3 / max(len(names), 1)),
        horizontal_spacing=0.03,
    )
    traces: list[dict[str, Any]] = []
    labels: list[dict[str, Any]] = []
    for label, position, rows in runs_of(frame):
        panel = figure.get_subplot(names.index(rows["dbms"][0]) + 1, numbered.index(rows["repeat"][0]) + 1)
        place = {axis.plotly_name[:5]: axis.plotly_name.replace("axis", "") for axis in panel}
        # A row's first panel names the dbms, the others their repeat alone: there is little room on a phone.
        named = any(other["y"] == panel.yaxis.domain[1] for other in labels)
        labels.append(_above(panel, label.removeprefix(f"{rows['dbms'][0]} ") if named else label.removesuffix(" r1")))
        colour, _ = theme.series(position)
        for client in rows["client"].drop_nulls().unique().sort():
            of_client = rows.filter(pl.col("client") == client)
            traces.append(
                {
                    "type": "scatter", "x": of_client["t_s"].to_list(), "y": numbers(of_client[middle], decimals),
                    "mode": line_mode(of_client[middle]), "line": {"color": _CLIENT_INK, "width": 1},
                    "marker": {"color": _CLIENT_INK, "size": 5}, "name": f"client {client}", "meta": ASIDE,
                    "showlegend": False, **place,
                }
            )  # fmt: skip
        total = rows.filter(pl.col("client").is_null())
        times = total["t_s"].to_list()
        if low != high and int(total["bucket_s"].max() or 1) > 1:  # type: ignore[arg-type]
            lower, upper = numbers(total[low], decimals), numbers(total[high], decimals)
            add_band(figure, times, lower, upper, colour, **place)
        traces.append(
            {
                "type": "scatter", "x": times, "y": numbers(total[middle], decimals), "mode": line_mode(total[middle]),
                "line": {"color": colour, "width": 2}, "marker": {"color": colour, "size": 7},
                "name": inert(f"all clients, {label}"), "showlegend": False, **place,
            }
        )  # fmt: skip
    figure.add_traces(traces)  # all at once: plotly looks at the whole figure with every addition
    figure.update_layout(annotations=labels, height=90 + 115 * len(names))
    title = f"{unit}, {frame['step'][0]}, {frame['setup'][0]}"
    finish(figure, title, x=None, y=None, zero=True, width="half" if len(numbered) == 1 else "full")
    figure.update_xaxes(rangemode="tozero")
    figure.update_xaxes(title_text="seconds of the step", row=len(names), col=(len(numbered) + 1) // 2)
    return figure


def _no_full_second(frame: pl.DataFrame, title: str) -> go.Figure:
    """What there is to say of a step that no run took a second for: empty panels alone would look like a fault."""
    broken = [label for label, _, rows in runs_of(frame) if (rows["step_status"] != "complete").any()]
    text = "; ".join(["no run has a full second of this step", *broken])
    figure = go.Figure()
    figure.add_annotation(
        text=inert(text), x=0, y=0.5, xref="paper", yref="paper", xanchor="left", showarrow=False,
        font={"color": theme.QUIET},
    )  # fmt: skip
    figure.update_layout(height=100)
    finish(figure, title, x=None, y=None, width="half")
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return figure


def _above(panel: Any, label: str) -> dict[str, Any]:
    """The label above a panel's left corner."""
    return {
        "text": inert(label), "x": panel.xaxis.domain[0], "y": panel.yaxis.domain[1], "xref": "paper", "yref": "paper",
        "xanchor": "left", "yanchor": "bottom", "showarrow": False, "font": {"size": 12, "color": theme.QUIET},
    }  # fmt: skip
