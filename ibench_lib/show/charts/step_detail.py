"""One step of one run under the microscope: panels above each other on one time axis, dips as bands through all.

Charts of one setup and step have the same panels and axes, so that runs can be compared by eye.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor, log10
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl

from ibench_lib.show import theme
from ibench_lib.show.charts.drawing import band, dip_bands, dip_labels, finish, line_mode, numbers, runs_of
from ibench_lib.show.series_names import shown
from ibench_lib.show.step_detail import StepDetail
from ibench_lib.show.step_panels import RESPONSES, Line, Panel, panels_of
from ibench_lib.show.theme import inert

_PANEL_PX, _GAP_PX, _TOP_PX, _BOTTOM_PX = 84, 44, 28, 44
_SHADES = "Blues"
_LEAST_SHARE = 0.01


@dataclass(frozen=True)
class _Place:
    """Where a panel stands: its number from the top, and the range of its y axis, the same for every run."""

    panel: Panel
    number: int
    low: float
    high: float

    @property
    def axis(self) -> str:
        return "y" if self.number == 1 else f"y{self.number}"

    @property
    def axis_name(self) -> str:
        """The layout's name of it."""
        return self.axis.replace("y", "yaxis")


def step_detail_chart(frame: pl.DataFrame, *, detail: StepDetail, palette: str = "default") -> go.Figure:
    """All panels of one run and step (its rows of `detail.series`).

    Where several seconds share a point, a line is their mean and its band reaches from their least to their greatest;
    worst responses and times of requests are always the greatest. What a run did not capture is an empty panel; a panel
    that no run of the setup and step has is left out.
    """
    alike = {name: frame[name][0] for name in ("setup", "step")}
    one = {name: frame[name][0] for name in ("run_id", "step_id")}
    runs = {rows["run_id"][0]: label for label, _, rows in runs_of(detail.steadiness.filter(**alike))}
    several = detail.series.filter(**alike)["run_id"].n_unique() > 1
    places = list(_places(detail, alike))
    main = _main_series(detail, one)
    figure = go.Figure()
    for place in places:
        rows = frame
        if place.panel is RESPONSES:
            _add_shares(figure, place, detail.response_shares_over_time.filter(**one))
            rows = _percentiles(detail).filter(**one)
        _add_lines(figure, place, rows, detail.steadiness.filter(**one), main)
    if not places:
        figure.add_annotation(text="no value in the step", x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    title = f"{alike['step']}, {alike['setup']}: {runs[one['run_id']]}"
    height = _TOP_PX + _BOTTOM_PX + max(len(places), 1) * (_PANEL_PX + _GAP_PX)
    figure.update_layout(height=height)
    _set_axes(figure, places, height)
    finish(figure, title, x="seconds of the step", y=None, width="half" if several else "full")
    figure.update_layout(margin={"t": _TOP_PX, "b": _BOTTOM_PX}, showlegend=False)
    bottom = places[-1].axis if places else "y"
    figure.update_xaxes(range=[0, _end(detail.series.filter(**alike))], anchor=bottom, hoverformat=".1f")
    figure.update_xaxes(showspikes=True, spikemode="across", spikethickness=1, spikecolor=theme.QUIET, spikedash="dot")
    dips, end_s = detail.dips.filter(**one), _end(detail.series.filter(**alike))
    figure.update_layout(shapes=dip_bands(dips, palette))
    for label in dip_labels(dips, end_s, 0.2 if several else 0.1, yanchor="top"):
        figure.add_annotation(label)
    return figure


def _places(detail: StepDetail, alike: dict[str, Any]) -> Iterator[_Place]:
    """The panels that any run of this setup and step has values for."""
    number = 0
    frames = {True: _percentiles(detail).filter(**alike), False: detail.series.filter(**alike)}
    for panel in panels_of(detail.step_families):
        found = _values(frames[panel is RESPONSES], panel)
        if panel is RESPONSES:
            edges = detail.response_shares_over_time.filter(**alike)["from_s"] * 1e3
            found = pl.concat([found, edges, 2 * edges])
        if len(found):
            number += 1
            most = float(found.max())  # type: ignore[arg-type]
            least = float(found.filter(found > 0).min() or 1) if panel.log else 0.0  # type: ignore[arg-type]
            yield _Place(panel, number, least, most if most > least else least + 1)


def _values(frame: pl.DataFrame, panel: Panel) -> pl.Series:
    """All that the panel's lines reach, in its unit."""
    columns = ("high",) if panel.value == "high" else ("low", "high")
    found = [_rows(frame, line)[column] * _factor(line) for line in panel.lines for column in columns]
    return pl.concat(found).drop_nulls()


def _rows(frame: pl.DataFrame, line: Line) -> pl.DataFrame:
    return frame.filter((pl.col("source") == line.source) & (pl.col("series") == line.series))


def _factor(line: Line) -> float:
    return 1e3 if line.series in ("p50_s", "p99_s", "p999_s") else shown(line.source, line.series).factor


def _percentiles(detail: StepDetail) -> pl.DataFrame:
    """Percentiles of the main operation in the shape of series."""
    percentiles = ["p50_s", "p99_s", "p999_s"]
    key = ["run_id", "step_id"]
    main = detail.steadiness.select(*key, operation="main_operation")
    return (
        detail.response_percentiles_over_time.filter(timing="service")
        .join(main, on=[*key, "operation"])
        .unpivot(
            percentiles, index=["setup", "step", *key, "t_s", "bucket_s"], variable_name="series", value_name="low"
        )
        .with_columns(source=pl.lit("clients"), middle="low", high="low")
        .sort(*key, "series", "t_s")
    )


def _add_lines(figure: go.Figure, place: _Place, frame: pl.DataFrame, steadiness: pl.DataFrame, main: str) -> None:
    """The lines of a panel, the first on top of the others but for dotted ones, and a heading that tells them apart."""
    panel = place.panel
    legend: dict[int, tuple[str, str, str]] = {}
    for position, line in sorted(enumerate(panel.lines), key=lambda item: (item[1].dash != "solid", -item[0])):
        rows = _rows(frame, line)
        if rows[panel.value].drop_nulls().is_empty():
            continue
        colour = _colour(panel, line, position)
        legend[position] = (colour, line.dash, line.label)
        times = numbers(rows["t_s"], 2)
        if panel.value == "middle" and panel is not RESPONSES and rows["bucket_s"][0] > 1 and not line.limit:
            low, high = (_short(rows[edge] * _factor(line)) for edge in ("low", "high"))
            figure.add_traces(band(times, low, high, colour))
            for edge in figure.data[-2:]:
                edge.update(yaxis=place.axis, hoverinfo="skip")
        figure.add_scatter(
            x=times,
            y=_short(rows[panel.value] * _factor(line)),
            name=line.label,
            mode=line_mode(rows[panel.value]),
            line={"color": colour, "dash": line.dash, "width": 1.5},
            marker={"color": colour, "size": 5},
            hovertemplate=f"%{{y}} {panel.shown_unit}",
            yaxis=place.axis,
        )
    if not legend:
        # An axis without a trace is not drawn.
        figure.add_scatter(x=[None], y=[None], hoverinfo="skip", yaxis=place.axis)
        figure.add_annotation(
            text="not captured", x=0.5, xref="paper", y=0.5, yref=f"{place.axis} domain", showarrow=False
        )
    median = steadiness["median_rate"].drop_nulls()
    if len(median) and main in [line.series for line in panel.lines]:
        figure.add_scatter(
            x=[0, steadiness["duration_s"][0]],
            y=[median[0] / 2] * 2,
            mode="lines",
            line={"color": theme.INK, "dash": "dash", "width": 1},
            hoverinfo="skip",
            yaxis=place.axis,
        )
        legend[len(panel.lines)] = (theme.INK, "dash", "half of the median")
    _add_heading(figure, place, [legend[position] for position in sorted(legend)])


def _main_series(detail: StepDetail, one: dict[str, Any]) -> str:
    """The series of the rate of a step's main operation; empty where it has none."""
    main = detail.steadiness.filter(**one)["main_operation"]
    found = detail.step_families.filter(pl.col("family").is_in(main.to_list()))["rate_series"].to_list()
    return str(found[0]) if found else ""


_STROKES = {"solid": "━━", "dash": "╍╍", "dot": "▪▪"}


def _add_heading(figure: go.Figure, place: _Place, legend: list[tuple[str, str, str]]) -> None:
    """What a panel shows, in which unit, and below it how each line looks."""
    unit = f" ({place.panel.shown_unit})" if place.panel.shown_unit else ""
    lines = [f'<span style="color:{colour}">{_STROKES[dash]}</span> {inert(name)}' for colour, dash, name in legend]
    common = {"x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": f"{place.axis} domain", "yanchor": "bottom"}
    common |= {"showarrow": False, "xshift": -2}
    figure.add_annotation(
        text=inert(place.panel.title + unit), yshift=16, font={"size": 12, "color": theme.INK}, **common
    )
    figure.add_annotation(text="  ".join(lines), yshift=1, font={"size": 10, "color": theme.QUIET}, **common)


def _colour(panel: Panel, line: Line, position: int) -> str:
    if line.limit:
        return theme.QUIET
    if panel is RESPONSES:
        return (theme.INK, theme.SERIES[1], theme.SERIES[3])[position]
    return theme.SERIES[position % len(theme.SERIES)]


def _add_shares(figure: go.Figure, place: _Place, shares: pl.DataFrame) -> None:
    """The spread of the responses behind their percentiles: a column for each moment, the more the darker."""
    if shares.is_empty():
        return
    bucket_s = shares["bucket_s"][0]
    edges = shares["from_s"].unique().sort().to_list()
    powers = range(round(log10(edges[0]) / log10(2)), round(log10(edges[-1]) / log10(2)) + 1)
    columns = int(float(shares["t_s"].max()) / bucket_s) + 1  # type: ignore[arg-type]
    cells: list[list[float | None]] = [[None] * columns for _ in powers]
    for from_s, t_s, share in shares.select("from_s", "t_s", "share").iter_rows():
        row = round(log10(from_s) / log10(2)) - powers[0]
        cells[row][int(t_s / bucket_s)] = round(log10(max(share, _LEAST_SHARE)), 2)
    figure.add_heatmap(
        x0=bucket_s / 2,
        dx=bucket_s,
        y=[1e3 * 2.0**power for power in (*powers, powers[-1] + 1)],
        z=cells,
        name="shares of responses",
        zmin=log10(_LEAST_SHARE) - 1,
        zmax=2.5,
        colorscale=_SHADES,
        showscale=False,
        hoverinfo="skip",
        yaxis=place.axis,
    )


def _short(values: pl.Series) -> list[float | None]:
    """Five digits, which is more than can be seen; NULL stays a gap in the line."""
    return [None if value is None else float(f"{value:.5g}") for value in values]


def _end(series: pl.DataFrame) -> float:
    last = series.select((pl.col("t_s") + pl.col("bucket_s") / 2).max()).item()
    return float(last or 1)


def _set_axes(figure: go.Figure, places: list[_Place], height: int) -> None:
    """Give each panel its part of the height and its range."""
    inner = height - _TOP_PX - _BOTTOM_PX
    for place in places:
        bottom = 1 - place.number * (_PANEL_PX + _GAP_PX) / inner
        if place.panel.log:
            low, high = place.low / 1.2, place.high * 1.3
            # In less than two decades there may be no more than one power of ten.
            ticks = (1, 2, 5) if high < 100 * low else (1,)
            powers = range(floor(log10(low)), floor(log10(high)) + 1)
            values = [tick * 10.0**power for power in powers for tick in ticks]
            axis: dict[str, Any] = {"type": "log", "range": [log10(low), log10(high)]}
            axis |= {"tickvals": values, "ticktext": [f"{value:g}" for value in values]}
        else:
            axis = {"range": [0, place.high * 1.08], "nticks": 4}
        axis |= {"domain": [max(bottom, 0.0), bottom + _PANEL_PX / inner], "anchor": "x", "tickfont": {"size": 10}}
        figure.update_layout({place.axis_name: axis})
