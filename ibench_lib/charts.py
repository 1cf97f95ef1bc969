"""One function per chart of a post: a frame of one setup (and step) in, a plotly Figure out.

The frames are answers to the questions in `ibench_lib/sql/`, already down-sampled there. Traces are SVG (Scatter, Bar),
never WebGL, of which a browser draws only about a dozen on one page. `layout.meta` carries the title as plain text and
the width (half or full) for the page that shows the chart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from ibench_lib import theme
from ibench_lib.frames import by_position, repeats, steps_of
from ibench_lib.theme import inert

MOST_POINTS = 2000
"""Points of a trace, at most; the questions' `points` may ask for fewer."""

_GRID = "#e8ecf0"
_CLIENT_INK = "rgba(91, 104, 117, 0.45)"


def purge_lag_chart(frame: pl.DataFrame) -> go.Figure:
    """History list length over the time of one step, all dbms together (`purge_lag_series`).

    Where several samples share a point, the line is their mean and the band reaches from their min to their max.
    """
    figure = go.Figure()
    for label, position, rows in _runs(frame):
        colour, dash = theme.series(position)
        times = _numbers(rows["t_s"], 2)
        if int(rows["bucket_samples"].max() or 1) > 1:  # type: ignore[arg-type]
            _add_band(figure, times, _numbers(rows["hll_min"], 0), _numbers(rows["hll_max"], 0), colour)
        figure.add_scatter(
            x=times,
            y=_numbers(rows["hll_mean"], 1),
            mode="lines" if len(rows) > 1 else "markers",
            name=inert(label),
            line={"color": colour, "dash": dash, "width": 2},
        )
    title = f"History list length during {frame['step'][0]}, {frame['setup'][0]}"
    return _finish(figure, title, x="seconds of the step", y="history list length", zero=True)


def purge_lag_end_chart(frame: pl.DataFrame) -> go.Figure:
    """History list length at the end of each step (`purge_lag_at_step_end`), one group of bars a step."""
    figure = go.Figure()
    steps = steps_of(frame)
    for label, position, rows in _runs(frame):
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
    return _finish(figure, title, x=None, y="history list length", zero=True)


def get_min_chart(frame: pl.DataFrame) -> go.Figure:
    """Seconds of get_min per step on a log scale (`get_min`): a line through the worst client, a dot for each."""
    figure = go.Figure()
    for label, position, rows in _runs(frame.filter(pl.col("get_min_s").is_not_null())):
        colour, dash = theme.series(position)
        each = rows.explode("client_seconds")
        figure.add_scatter(
            x=[inert(step) for step in each["step"]],
            y=_numbers(each["client_seconds"], 6),
            mode="markers",
            marker={"color": colour, "size": 5, "opacity": 0.55},
            showlegend=False,
            legendgroup=str(position),
            name=inert(f"{label}, each client"),
        )
        figure.add_scatter(
            x=[inert(step) for step in rows["step"]],
            y=_numbers(rows["get_min_s"], 6),
            mode="lines+markers",
            legendgroup=str(position),
            name=inert(label),
            line={"color": colour, "dash": dash, "width": 2},
            marker={"size": 9},
        )
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=[inert(s) for s in steps_of(frame)])
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    return _finish(figure, f"Seconds of get_min, {frame['setup'][0]}", x=None, y="seconds")


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
    runs = list(_runs(frame))
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
                y=_numbers(of_client[middle], decimals),
                mode=_mode(of_client[middle]),
                line={"color": _CLIENT_INK, "width": 1},
                marker={"color": _CLIENT_INK, "size": 5},
                name=f"client {client}",
                showlegend=False,
                row=row,
                col=1,
            )
        total = rows.filter(pl.col("client").is_null())
        times = total["t_s"].to_list()
        if low != high and int(total["bucket_s"].max() or 1) > 1:  # type: ignore[arg-type]
            lower, upper = _numbers(total[low], decimals), _numbers(total[high], decimals)
            _add_band(figure, times, lower, upper, colour, row=row, col=1)
        figure.add_scatter(
            x=times,
            y=_numbers(total[middle], decimals),
            mode=_mode(total[middle]),
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
    _finish(figure, title, x=None, y=None, zero=True, width="half")
    figure.update_xaxes(rangemode="tozero")
    figure.update_xaxes(title_text="seconds of the step", row=len(runs), col=1)
    return figure


def _runs(frame: pl.DataFrame) -> Iterator[tuple[str, int, pl.DataFrame]]:
    """(label, colour position, rows) of each run, dbms by dbms; the label tells what did not complete."""
    several = repeats(frame) > 1 if len(frame) else False
    for name in by_position(frame):
        of_dbms = frame.filter(pl.col("dbms") == name)
        for repeat in of_dbms["repeat"].unique().sort():
            rows = of_dbms.filter(pl.col("repeat") == repeat)
            label = f"{name} r{repeat}" if several else name
            broken = rows.filter(pl.col("step_status") != "complete")
            if len(broken):
                label += f" ({broken['step'][0]}: {broken['step_status'][0]})"
            yield label, int(rows["dbms_position"][0]) - 1, rows


def _mode(values: pl.Series) -> str:
    return "lines" if values.drop_nulls().len() > 1 else "markers"


def _numbers(values: pl.Series, decimals: int) -> list[Any]:
    """Plain numbers for plotly, rounded to what can be seen; NULL stays a gap in the line."""
    return [None if value is None else round(float(value), decimals) for value in values]


def _add_band(
    figure: go.Figure, x: Sequence[Any], lower: Sequence[Any], upper: Sequence[Any], colour: str, **place: int
) -> None:
    common = {"x": x, "mode": "lines", "showlegend": False, "line": {"width": 0.5, "color": colour}, "opacity": 0.5}
    figure.add_scatter(y=lower, name="min", **common, **place)
    figure.add_scatter(y=upper, name="max", fill="tonexty", **common, **place)


def _finish(
    figure: go.Figure,
    title: str,
    *,
    x: str | None,
    y: str | None,
    zero: bool = False,
    width: Literal["half", "full"] = "full",
) -> go.Figure:
    """Give a chart the shared look."""
    figure.update_layout(
        title={"text": inert(title), "font": {"size": 15}, "x": 0, "xref": "paper"},
        meta={"title": title, "width": width},
        font={"family": theme.FONT, "size": 12, "color": theme.INK},
        paper_bgcolor="white",
        plot_bgcolor="white",
        hovermode="x unified",
        margin={"l": 56, "r": 16, "t": 48, "b": 44},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": -0.22, "yanchor": "top"},
        bargap=0.25,
        showlegend=True,
    )
    figure.update_xaxes(gridcolor=_GRID, linecolor=theme.RULE, zeroline=False, automargin=True)
    figure.update_yaxes(gridcolor=_GRID, linecolor=theme.RULE, zeroline=False, automargin=True)
    if x:
        figure.update_xaxes(title_text=x, rangemode="tozero")
    if y:
        figure.update_yaxes(title_text=y)
    if zero:
        figure.update_yaxes(rangemode="tozero")
    if figure.layout.height is None:
        figure.update_layout(height=380)
    return figure
