"""Percentiles of response times over the time of a step, as heat maps: a row for each run."""

from __future__ import annotations

from functools import cache
from math import log10
from typing import Any

import polars as pl
from plotly import colors  # type: ignore[import-untyped]

from ibench_lib.show.kit import theme
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.chart_text import UNIT
from ibench_lib.show.kit.drawing import Drawing, drawn, runs_of
from ibench_lib.show.kit.look import AXIS, look
from ibench_lib.show.kit.theme import inert

_LEVELS = {"p50_s": "p50", "p99_s": "p99", "p999_s": "p99.9", "max_s": "largest"}

_APART = 0.07
"""What is left free between the rows of a chart, as a share of it."""

_AS_THE_LAST = {"matches": f"x{len(_LEVELS)}", "showticklabels": False}
"""The axis of time of the other rows."""


@answers(
    "response_percentiles_over_time", "No response time was recorded.", by=["step", "setup", "operation", "timing"]
)
@drawn
def response_heat_chart(frame: pl.DataFrame) -> Drawing:
    """p50, p99, p99.9 and the largest response over time (`response_percentiles_over_time`).

    One step, operation and timing. All rows share one logarithmic scale of colours; where nothing was
    answered it is white.
    """
    runs = list(runs_of(frame))
    labels = [inert(label) for label, _, _ in runs]
    reach = pl.concat([frame[level] for level in _LEVELS]).drop_nulls()
    reach = reach.filter(reach > 0)
    low, high = (log10(1e3 * float(edge or 1e-3)) for edge in (reach.min(), reach.max()))  # type: ignore[arg-type]
    bucket_s = int(frame["bucket_s"].max() or 1)  # type: ignore[arg-type]
    columns = int(float(frame["t_s"].max()) // bucket_s) + 1  # type: ignore[arg-type]
    step, setup, operation, timing = (frame[name][0] for name in ("step", "setup", "operation", "timing"))
    lacking = ": not recorded for some runs" if frame["responses"].has_nulls() else ""
    lacking = ": not recorded" if frame["responses"].is_null().all() else lacking
    title = f"Response times of {operation} over {step}, {setup} ({timing}){lacking}"
    layout = look(title, time=f"{step}, {setup}")
    layout |= {"hovermode": "closest", "showlegend": False, "annotations": []}
    traces: list[dict[str, Any]] = []
    high_each = (1 - _APART * (len(_LEVELS) - 1)) / len(_LEVELS)
    for row, (level, name) in enumerate(_LEVELS.items()):
        cells = [_cells(rows, level, bucket_s, columns) for _, _, rows in runs]
        axis = str(row + 1) if row else ""
        traces.append(
            {
                "type": "heatmap", "x0": bucket_s / 2, "dx": bucket_s, "y": labels,
                "z": [[None if ms is None else round(log10(ms), 2) for ms in line] for line in cells],
                "zmin": low, "zmax": high if high > low else low + 1, "colorscale": _colours(), "showscale": row == 0,
                "customdata": cells, "name": name, "meta": {UNIT: "ms"},
                "hovertemplate": "%{y}: %{customdata} ms<extra>" + name + "</extra>", "colorbar": _scale(low, high),
                "xaxis": f"x{axis}", "yaxis": f"y{axis}",
            }
        )  # fmt: skip
        bottom = (high_each + _APART) * (len(_LEVELS) - 1 - row)
        is_last = row == len(_LEVELS) - 1
        time = {"title": {"text": "seconds of the step"}} if is_last else _AS_THE_LAST
        layout[f"xaxis{axis}"] = {**AXIS, "anchor": f"y{axis}", "domain": [0.0, 1.0], **time}
        top = 1.0 if row == 0 else bottom + high_each
        layout[f"yaxis{axis}"] = {**AXIS, "anchor": f"x{axis}", "domain": [bottom, top], "autorange": "reversed"}
        place = {"x": 0, "xanchor": "left", "xref": "paper", "y": top, "yanchor": "bottom", "yref": "paper"}
        font = {"size": 12, "color": theme.QUIET}
        layout["annotations"].append({"text": name, "showarrow": False, "font": font, **place})
    return Drawing(traces, {**layout, "height": 120 + len(_LEVELS) * (26 + 22 * len(runs))})


@cache
def _colours() -> list[list[Any]]:
    """The scale of colours called Cividis, which people read alike however they see colours."""
    last = len(colors.sequential.Cividis) - 1
    return [[place / last, colour] for place, colour in enumerate(colors.sequential.Cividis)]


def _cells(rows: pl.DataFrame, level: str, bucket_s: int, columns: int) -> list[float | None]:
    """Milliseconds of one run; where its own buckets are shorter than the chart's, the greatest of them."""
    cells: list[float | None] = [None] * columns
    for t_s, seconds in rows.select("t_s", level).drop_nulls().iter_rows():
        column, ms = int(t_s // bucket_s), float(f"{1e3 * seconds:.3g}")
        cells[column] = max(cells[column] or ms, ms)
    return cells


def _scale(low: float, high: float) -> dict[str, object]:
    """A scale of colours that says milliseconds, whole powers of ten."""
    ticks = [power for power in range(-3, 7) if low - 0.5 <= power <= high + 0.5]
    return {
        "tickvals": ticks,
        "ticktext": [theme.seconds(10.0**power / 1e3) for power in ticks],
        "thickness": 12,
        "outlinewidth": 0,
    }
