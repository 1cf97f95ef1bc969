"""One step of one run under the microscope: panels above each other on one time axis, dips as bands through all.

Charts of one setup and step have the same panels and axes, so that runs can be compared by eye.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor, log10
from typing import Any

import plotly.colors  # type: ignore[import-untyped]
import polars as pl

from ibench_lib.show.kit import theme
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.drawing import (
    Drawing,
    band,
    dip_bands,
    dip_labels,
    drawn,
    flat,
    in_the_middle,
    intervals_said,
    line_mode,
    numbers,
    runs_of,
)
from ibench_lib.show.kit.look import Width, look
from ibench_lib.show.kit.series_names import shown
from ibench_lib.show.kit.theme import inert
from ibench_lib.show.step_detail.detail import StepDetail
from ibench_lib.show.step_detail.panels import RESPONSES, Line, Panel, panels_of

_PANEL_PX, _GAP_PX, _TOP_PX, _BOTTOM_PX = 84, 44, 28, 44
_SHADES = plotly.colors.make_colorscale(plotly.colors.sequential.Blues)
"""Written out: of this name, the script that draws a chart has other colours than plotly's Python."""

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


@answers("operation_series", "No second was recorded.", by=["step", "setup", "dbms", "repeat"])
@drawn
def step_detail_chart(frame: pl.DataFrame, *, detail: StepDetail, palette: str = "default") -> Drawing:
    """All panels of one run and step (its rows of `detail.series`).

    Where several seconds share a point, a line is their mean and its band reaches from their least to their greatest;
    worst responses and times of requests are always the greatest. What a run did not capture is an empty panel; a panel
    that no run of the setup and step has is left out.
    """
    alike = {name: frame[name][0] for name in ("setup", "step")}
    one = {name: frame[name][0] for name in ("run_id", "step_id")}
    runs = {rows["run_id"][0]: label for label, _, rows in runs_of(detail.steadiness.filter(**alike))}
    of_step = detail.series.filter(**alike)
    several, end_s = of_step["run_id"].n_unique() > 1, _end(of_step)
    percentiles = _percentiles(detail)
    places = list(_places(detail, alike, of_step, percentiles.filter(**alike)))
    steadiness = detail.steadiness.filter(**one)
    main = _main_series(detail, steadiness)
    drawing = Drawing([], {})
    notes: list[dict[str, Any]] = []
    lines, of_responses = _by_line(frame), _by_line(percentiles.filter(**one))
    for place in places:
        of_panel = lines
        if place.panel is RESPONSES:
            drawing.data.extend(_shares(place, detail.response_shares_over_time.filter(**one)))
            of_panel = of_responses
        traces, legend = _lines(place, of_panel)
        if not legend:
            notes.append(
                {
                    "text": "not captured", "x": 0.5, "xref": "paper", "y": 0.5, "yref": f"{place.axis} domain",
                    "showarrow": False,
                }
            )  # fmt: skip
        half = _half_of_median(place, steadiness, main)
        if half:
            legend.append((theme.INK, "dash", "half of the median"))
        drawing.data.extend([*traces, *half])
        notes += _heading(place, legend)
    if not places:
        text = "no value in the step"
        notes.append(in_the_middle(text))
    dips = detail.dips.filter(**one).to_dicts()
    notes += dip_labels(dips, end_s, 0.2 if several else 0.1, yanchor="top")
    title = f"{alike['step']}, {alike['setup']}: {runs[one['run_id']]}"
    if lengths := intervals_said(frame):
        title += f", rates of {lengths}"
    layout = _layout(title, places, end_s, "half" if several else "full")
    layout["meta"] |= {"time": f"{alike['step']}, {alike['setup']}", "what": "", "lasts_s": 0.0}
    drawing.layout.update({**layout, "shapes": dip_bands(dips, palette), "annotations": notes})
    return drawing


def _places(
    detail: StepDetail, alike: dict[str, Any], series: pl.DataFrame, percentiles: pl.DataFrame
) -> Iterator[_Place]:
    """The panels that any run of this setup and step has values for."""
    number = 0
    reached = {True: _reached(percentiles), False: _reached(series)}
    for panel in panels_of(detail.step_families):
        found = list(_extremes(reached[panel is RESPONSES], panel))
        if panel is RESPONSES:
            edges = detail.response_shares_over_time.filter(**alike)["from_s"].unique().drop_nulls().to_list()
            found += [factor * edge for edge in edges for factor in (1e3, 2e3)]
        if found:
            number += 1
            most = max(found)
            least = min((value for value in found if value > 0), default=1.0) if panel.log else 0.0
            yield _Place(panel, number, least, most if most > least else least + 1)


def _reached(frame: pl.DataFrame) -> dict[tuple[str, str], dict[str, Any]]:
    """By source and series: the extremes of `low` and `high`, and the least of them above zero."""
    edges = ("low", "high")
    found = frame.group_by("source", "series").agg(
        *(pl.col(edge).max().name.suffix("_most") for edge in edges),
        *(pl.col(edge).filter(pl.col(edge) > 0).min().name.suffix("_least") for edge in edges),
    )
    return {(row["source"], row["series"]): row for row in found.iter_rows(named=True)}


def _extremes(reached: dict[tuple[str, str], dict[str, Any]], panel: Panel) -> Iterator[float]:
    """The largest and the smallest value above zero of each of the panel's lines, in its unit."""
    columns = ("high",) if panel.value == "high" else ("low", "high")
    for line in panel.lines:
        row = reached.get((line.source, line.series), {})
        for name in (f"{column}_{end}" for column in columns for end in ("most", "least")):
            if row.get(name) is not None:
                yield row[name] * _factor(line)


def _by_line(frame: pl.DataFrame) -> dict[tuple[str, str], pl.DataFrame]:
    """The rows of each source and series; polars takes as long to filter a frame once as to part it."""
    parts = frame.partition_by("source", "series", maintain_order=True)
    return {(part["source"][0], part["series"][0]): part for part in parts}


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


def _lines(
    place: _Place, parts: dict[tuple[str, str], pl.DataFrame]
) -> tuple[list[dict[str, Any]], list[tuple[str, str, str]]]:
    """The lines of a panel, the first on top of the others but for dotted ones; and what tells them apart."""
    panel = place.panel
    traces: list[dict[str, Any]] = []
    legend: dict[int, tuple[str, str, str]] = {}
    for position, line in sorted(enumerate(panel.lines), key=lambda item: (item[1].dash != "solid", -item[0])):
        rows = parts.get((line.source, line.series))
        if rows is None or rows[panel.value].null_count() == len(rows):
            continue
        colour = _colour(panel, line, position)
        legend[position] = (colour, line.dash, line.label)
        rows = _flat(rows)
        times = numbers(rows["at_s"], 2)
        share_points = panel is not RESPONSES and _share_points(rows)
        if panel.value == "middle" and share_points and not line.limit:
            low, high = (_short(rows[edge] * _factor(line)) for edge in ("low", "high"))
            traces += [{**edge, "yaxis": place.axis, "hoverinfo": "skip"} for edge in band(times, low, high, colour)]
        traces.append(
            {
                "type": "scatter", "x": times, "y": _short(rows[panel.value] * _factor(line)), "name": line.label,
                "mode": line_mode(rows[panel.value]), "line": {"color": colour, "dash": line.dash, "width": 1.5},
                "marker": {"color": colour, "size": 5}, "hovertemplate": f"%{{y}} {panel.shown_unit}",
                "yaxis": place.axis, "meta": {"what": _titled(panel)},
            }
        )  # fmt: skip
    if not legend:
        # An axis without a trace is not drawn.
        traces.append({"type": "scatter", "x": [None], "y": [None], "hoverinfo": "skip", "yaxis": place.axis})
    return traces, [legend[position] for position in sorted(legend)]


def _share_points(rows: pl.DataFrame) -> bool:
    """Whether a point stands for several seconds, or for several intervals."""
    one = rows["interval_s"][0] if intervals_said(rows) else 1
    return bool(rows["bucket_s"][0] > 1.5 * one)


def _flat(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of a line with `at_s`, where they are drawn: a rate of an interval is flat over it."""
    if not intervals_said(rows):
        return rows.hstack([rows["t_s"].alias("at_s")])
    return flat(rows.with_columns(t_s=pl.col("t_s") - pl.col("bucket_s") / 2))


def _half_of_median(place: _Place, steadiness: pl.DataFrame, main: str) -> list[dict[str, Any]]:
    """Below this line of the main rate's panel, seconds are a stall."""
    median = steadiness["median_rate"].drop_nulls()
    if median.is_empty() or main not in [line.series for line in place.panel.lines]:
        return []
    return [
        {
            "type": "scatter", "x": [0, steadiness["duration_s"][0]], "y": [median[0] / 2] * 2, "mode": "lines",
            "line": {"color": theme.INK, "dash": "dash", "width": 1}, "hoverinfo": "skip", "yaxis": place.axis,
        }
    ]  # fmt: skip


def _main_series(detail: StepDetail, steadiness: pl.DataFrame) -> str:
    """The series of the rate of a step's main operation; empty where it has none."""
    main = steadiness["main_operation"]
    found = detail.step_families.filter(pl.col("family").is_in(main.to_list()))["rate_series"].to_list()
    return str(found[0]) if found else ""


_STROKES = {"solid": "━━", "dash": "╍╍", "dot": "▪▪"}


def _titled(panel: Panel) -> str:
    """What a panel shows, with its unit."""
    return panel.title + (f" ({panel.shown_unit})" if panel.shown_unit else "")


def _heading(place: _Place, legend: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
    """What a panel shows, in which unit, and below it how each line looks."""
    lines = [f'<span style="color:{colour}">{_STROKES[dash]}</span> {inert(name)}' for colour, dash, name in legend]
    common = {
        "x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": f"{place.axis} domain", "yanchor": "bottom",
        "showarrow": False, "xshift": -2,
    }  # fmt: skip
    title, under = inert(_titled(place.panel)), "  ".join(lines)
    return [
        {**common, "text": title, "yshift": 16, "font": {"size": 12, "color": theme.INK}},
        {**common, "text": under, "yshift": 1, "font": {"size": 10, "color": theme.QUIET}},
    ]


def _colour(panel: Panel, line: Line, position: int) -> str:
    if line.limit:
        return theme.QUIET
    if panel is RESPONSES:
        return (theme.INK, theme.series(1)[0], theme.series(3)[0])[position]
    return theme.series(position)[0]


def _shares(place: _Place, shares: pl.DataFrame) -> list[dict[str, Any]]:
    """The spread of the responses behind their percentiles: a column for each moment, the more the darker."""
    if shares.is_empty():
        return []
    bucket_s = shares["bucket_s"][0]
    edges = shares["from_s"].unique().sort().to_list()
    powers = range(round(log10(edges[0]) / log10(2)), round(log10(edges[-1]) / log10(2)) + 1)
    columns = int(float(shares["t_s"].max()) / bucket_s) + 1  # type: ignore[arg-type]
    cells: list[list[float | None]] = [[None] * columns for _ in powers]
    for from_s, t_s, share in shares.select("from_s", "t_s", "share").iter_rows():
        row = round(log10(from_s) / log10(2)) - powers[0]
        cells[row][int(t_s / bucket_s)] = round(log10(max(share, _LEAST_SHARE)), 2)
    return [
        {
            "type": "heatmap", "x0": bucket_s / 2, "dx": bucket_s,
            "y": [1e3 * 2.0**power for power in (*powers, powers[-1] + 1)], "z": cells, "name": "shares of responses",
            "zmin": log10(_LEAST_SHARE) - 1, "zmax": 2.5, "colorscale": _SHADES, "showscale": False,
            "hoverinfo": "skip", "yaxis": place.axis,
        }
    ]  # fmt: skip


def _short(values: pl.Series) -> list[float | None]:
    """Five digits, which is more than can be seen; NULL stays a gap in the line."""
    return [None if value is None else float(f"{value:.5g}") for value in values]


def _end(series: pl.DataFrame) -> float:
    last = series.select((pl.col("t_s") + pl.col("bucket_s") / 2).max()).item()
    return float(last or 1)


def _layout(title: str, places: list[_Place], end_s: float, width: Width) -> dict[str, Any]:
    """The shared look; each panel has its part of the height and its range, and all have one axis of time."""
    height = _TOP_PX + _BOTTOM_PX + max(len(places), 1) * (_PANEL_PX + _GAP_PX)
    inner = height - _TOP_PX - _BOTTOM_PX
    layout = look(title, x="seconds of the step", width=width)
    layout["margin"] = {**layout["margin"], "t": _TOP_PX, "b": _BOTTOM_PX}
    layout["xaxis"] = {
        **layout["xaxis"], "range": [0, end_s], "anchor": places[-1].axis if places else "y", "hoverformat": ".1f",
        "showspikes": True, "spikemode": "across", "spikethickness": 1, "spikecolor": theme.QUIET, "spikedash": "dot",
    }  # fmt: skip
    of_y = layout["yaxis"]
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
        layout[place.axis_name] = {**of_y, **axis}
    return {**layout, "height": height, "showlegend": False}
