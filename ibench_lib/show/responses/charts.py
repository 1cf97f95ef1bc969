"""Percentiles of response times over the time of a step, as heat maps: a row for each run."""

from __future__ import annotations

from math import log10

import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from ibench_lib.show.kit import theme
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.chart_text import UNIT
from ibench_lib.show.kit.drawing import finish, runs_of
from ibench_lib.show.kit.theme import inert

_LEVELS = {"p50_s": "p50", "p99_s": "p99", "p999_s": "p99.9", "max_s": "largest"}


@answers(
    "response_percentiles_over_time", "No response time was recorded.", by=["step", "setup", "operation", "timing"]
)
def response_heat_chart(frame: pl.DataFrame) -> go.Figure:
    """p50, p99, p99.9 and the largest response over time (`response_percentiles_over_time`).

    One step, operation and timing. All rows share one logarithmic scale of colours; where nothing was
    answered it is white.
    """
    runs = list(runs_of(frame))
    labels = [inert(label) for label, _, _ in runs]
    figure = make_subplots(
        rows=len(_LEVELS), cols=1, shared_xaxes="all", vertical_spacing=0.07, subplot_titles=list(_LEVELS.values())
    )
    reach = pl.concat([frame[level] for level in _LEVELS]).drop_nulls()
    reach = reach.filter(reach > 0)
    low, high = (log10(1e3 * float(edge or 1e-3)) for edge in (reach.min(), reach.max()))  # type: ignore[arg-type]
    bucket_s = int(frame["bucket_s"].max() or 1)  # type: ignore[arg-type]
    columns = int(float(frame["t_s"].max()) // bucket_s) + 1  # type: ignore[arg-type]
    for row, level in enumerate(_LEVELS, start=1):
        cells = [_cells(rows, level, bucket_s, columns) for _, _, rows in runs]
        figure.add_heatmap(
            x0=bucket_s / 2,
            dx=bucket_s,
            y=labels,
            z=[[None if ms is None else round(log10(ms), 2) for ms in line] for line in cells],
            zmin=low,
            zmax=high if high > low else low + 1,
            colorscale="Cividis",
            showscale=row == 1,
            customdata=cells,
            name=_LEVELS[level],
            meta={UNIT: "ms"},
            hovertemplate="%{y}: %{customdata} ms<extra>" + _LEVELS[level] + "</extra>",
            colorbar=_scale(low, high),
            row=row,
            col=1,
        )
    figure.update_annotations(x=0, xanchor="left", font={"size": 12, "color": theme.QUIET})
    figure.update_yaxes(autorange="reversed", automargin=True)
    figure.update_layout(height=120 + len(_LEVELS) * (26 + 22 * len(runs)))
    step, setup, operation, timing = (frame[name][0] for name in ("step", "setup", "operation", "timing"))
    lacking = ": not recorded for some runs" if frame["responses"].has_nulls() else ""
    lacking = ": not recorded" if frame["responses"].is_null().all() else lacking
    title = f"Response times of {operation} over {step}, {setup} ({timing}){lacking}"
    finish(figure, title, x=None, y=None, time=f"{step}, {setup}")
    figure.update_xaxes(title_text="seconds of the step", row=len(_LEVELS), col=1)
    figure.update_layout(hovermode="closest", showlegend=False)
    return figure


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
