"""Rates and worst responses of one step in every second: a panel for each dbms, one shared y axis."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from ibench_lib.show import theme
from ibench_lib.show.chart_text import ASIDE
from ibench_lib.show.charts.drawing import (
    Drawing,
    Width,
    band,
    dip_bands,
    dip_labels,
    drawn,
    line_mode,
    look,
    plotted,
    runs_of,
)
from ibench_lib.show.frames import by_position
from ibench_lib.show.theme import inert

_CLIENT_INK = "rgba(91, 104, 117, 0.45)"


@drawn
def rate_chart(frame: pl.DataFrame, *, dips: pl.DataFrame | None = None, palette: str = "default") -> Drawing:
    """Rate of one operation in every second of one step (`one_second`): a panel per dbms, one shared y axis.

    `dips` (`dips`) are bands, with the names of their causes.
    """
    return _panels(frame, str(frame["rate_label"][0]), ("rate_min", "rate_mean", "rate_max"), 1, dips, palette)


@drawn
def max_response_chart(frame: pl.DataFrame, *, dips: pl.DataFrame | None = None, palette: str = "default") -> Drawing:
    """Worst response of one operation in every second of one step (`one_second`), in milliseconds; panels as above."""
    shown = frame.with_columns(worst_ms=pl.col("max_response_s") * 1e3)
    unit = f"max {frame['operation'][0]} response (ms)"
    return _panels(shown, unit, ("worst_ms", "worst_ms", "worst_ms"), 3, dips, palette)


def _panels(
    frame: pl.DataFrame,
    unit: str,
    columns: tuple[str, str, str],
    decimals: int,
    dips: pl.DataFrame | None,
    palette: str,
) -> Drawing:
    """One panel per run, all with the same axes: each client thin and grey, all clients together in colour.

    A row of panels a dbms, a column a repeat.
    """
    if frame["rate_mean"].drop_nulls().is_empty():
        return _no_full_second(frame, f"{unit}, {frame['step'][0]}, {frame['setup'][0]}")
    names, numbered = by_position(frame), frame["repeat"].unique().sort().to_list()
    low, middle, high = columns
    layout = _layout(f"{unit}, {frame['step'][0]}, {frame['setup'][0]}", len(names), len(numbered))
    traces: list[dict[str, Any]] = []
    labels: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    causes: list[dict[str, Any]] = []
    decimals = _visible(frame[high], decimals)
    end_s = float((frame["t_s"] + frame["bucket_s"]).max() or 1)  # type: ignore[arg-type]
    for label, position, rows in runs_of(frame):
        panel = _number(names.index(rows["dbms"][0]) * len(numbered) + numbered.index(rows["repeat"][0]))
        place = {"xaxis": f"x{panel}", "yaxis": f"y{panel}"}
        left, top = layout[f"xaxis{panel}"]["domain"][0], layout[f"yaxis{panel}"]["domain"][1]
        # A row's first panel names the dbms, the others their repeat alone: there is little room on a phone.
        named = any(other["y"] == top for other in labels)
        above = label.removeprefix(f"{rows['dbms'][0]} ") if named else label.removesuffix(" r1")
        labels.append(_above(left, top, above))
        colour, _ = theme.series(position)
        if dips is not None:
            mine = dips.filter(run_id=rows["run_id"][0], step_id=rows["step_id"][0])
            at = {"xref": place["xaxis"], "yref": f"{place['yaxis']} domain"}
            shapes += dip_bands(mine, palette, **at)
            causes += dip_labels(mine, end_s, 0.12 * len(numbered), **at, yanchor="top")
        parts = {part["client"][0]: part for part in rows.partition_by("client", maintain_order=True)}
        total = parts.pop(None, rows.clear())
        for client, of_client in sorted(parts.items()):
            traces.append(
                {
                    "type": "scatter", "x": of_client["t_s"].to_list(), "y": plotted(of_client[middle], decimals),
                    "mode": line_mode(of_client[middle]), "line": {"color": _CLIENT_INK, "width": 1},
                    "marker": {"color": _CLIENT_INK, "size": 5}, "name": f"client {client}", "meta": ASIDE,
                    "showlegend": False, **place,
                }
            )  # fmt: skip
        times = total["t_s"].to_list()
        if low != high and int(total["bucket_s"].max() or 1) > 1:  # type: ignore[arg-type]
            lower, upper = plotted(total[low], decimals), plotted(total[high], decimals)
            traces += [{**line, **place} for line in band(times, lower, upper, colour)]
        traces.append(
            {
                "type": "scatter", "x": times, "y": plotted(total[middle], decimals), "mode": line_mode(total[middle]),
                "line": {"color": colour, "width": 2}, "marker": {"color": colour, "size": 7},
                "name": inert(f"all clients, {label}"), "showlegend": False, **place,
            }
        )  # fmt: skip
    return Drawing(traces, {**layout, "annotations": labels + causes, "shapes": shapes})


def _visible(values: pl.Series, decimals: int) -> int:
    """As many decimals, of at most these, as the largest value has of four digits: panels share an axis up to it."""
    most = float(values.max() or 0)  # type: ignore[arg-type]
    return max(min(decimals, 3 - math.floor(math.log10(most))), 0) if most > 0 else decimals


def _layout(title: str, rows: int, columns: int) -> dict[str, Any]:
    """The shared look with a grid of panels, row by row from the top, whose axes all show the same ranges."""
    width: Width = "half" if columns == 1 else "full"
    layout = look(title, zero=True, width=width)
    of_x, of_y = {**layout["xaxis"], "rangemode": "tozero"}, layout["yaxis"]
    heights, widths = _spans(rows, min(0.12, 0.3 / rows))[::-1], _spans(columns, 0.03)
    for place in range(rows * columns):
        row, column = divmod(place, columns)
        n, bottom = _number(place), row == rows - 1
        x = {**of_x, "domain": widths[column], "anchor": f"y{n}", "showticklabels": bottom}
        y = {**of_y, "domain": heights[row], "anchor": f"x{n}", "showticklabels": column == 0}
        if place:  # the first axis leads, the others follow it
            x["matches"], y["matches"] = "x", "y"
        if bottom and column == (columns - 1) // 2:
            x["title"] = {"text": "seconds of the step"}
        layout[f"xaxis{n}"], layout[f"yaxis{n}"] = x, y
    return {**layout, "height": 90 + 115 * rows}


def _spans(count: int, gap: float) -> list[list[float]]:
    """From where to where, of 0 to 1, each of some equal parts reaches."""
    size = (1 - gap * (count - 1)) / count
    return [[n * (size + gap), n * (size + gap) + size] for n in range(count)]


def _number(place: int) -> str:
    """The number of an axis as plotly writes it: none for the first."""
    return str(place + 1) if place else ""


def _no_full_second(frame: pl.DataFrame, title: str) -> Drawing:
    """What there is to say of a step that no run took a second for: empty panels alone would look like a fault."""
    broken = [label for label, _, rows in runs_of(frame) if (rows["step_status"] != "complete").any()]
    text = "; ".join(["no run has a full second of this step", *broken])
    note = {
        "text": inert(text), "x": 0, "y": 0.5, "xref": "paper", "yref": "paper", "xanchor": "left", "showarrow": False,
        "font": {"color": theme.QUIET},
    }  # fmt: skip
    layout = look(title, width="half")
    hidden = {f"{axis}axis": {**layout[f"{axis}axis"], "visible": False} for axis in ("x", "y")}
    return Drawing([], {**layout, **hidden, "height": 100, "annotations": [note]})


def _above(left: float, top: float, label: str) -> dict[str, Any]:
    """The label above a panel's left corner."""
    return {
        "text": inert(label), "x": left, "y": top, "xref": "paper", "yref": "paper", "xanchor": "left",
        "yanchor": "bottom", "showarrow": False, "font": {"size": 12, "color": theme.QUIET},
    }  # fmt: skip
