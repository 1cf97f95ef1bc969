"""Throughput over the number of clients, or over the value of an option."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.analysis.sweep import sweep_of
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.drawing import Drawing, drawing, drawn
from ibench_lib.show.kit.look import look
from ibench_lib.show.kit.theme import inert

_WIDE = 4.0
"""From this ratio of the ends on an axis is logarithmic."""


@drawn
def sweep_chart(frame: pl.DataFrame) -> Drawing:
    """Throughput of one step over an axis, a line for each dbms (`sweep`).

    A point is the geometric mean of the repeats, with its interval, or with their range if they are too few for one.
    The axis is that of the powers of two if its ends are far apart; it has a tick at each place that was measured.
    """
    traces: list[dict[str, Any]] = []
    found = sweep_of(frame)
    for line in found.lines:
        colour, dash = theme.series(line.position - 1)
        traces.append(
            {
                "type": "scatter", "x": [point.x for point in line.points],
                "y": [round(point.value, 2) for point in line.points], "mode": "lines+markers",
                "name": inert(line.dbms), "line": {"color": colour, "dash": dash, "width": 2},
                "error_y": {
                    "array": [round(point.high - point.value, 2) if point.high else 0 for point in line.points],
                    "arrayminus": [round(point.value - point.low, 2) if point.low else 0 for point in line.points],
                    "thickness": 1, "width": 3, "visible": any(point.low for point in line.points),
                },
            }
        )  # fmt: skip
    axis, unit = str(frame["axis"][0]), str(next(iter(frame["rate_label"].drop_nulls()), "rate"))
    places = dict(sorted({point.x: point.place for line in found.lines for point in line.points}.items()))
    title = f"{frame['step'][0]}, {unit} over {axis}, {frame['setup'][0]}"
    xs = list(places)
    is_log = bool(xs) and xs[0] > 0 and xs[-1] / xs[0] >= _WIDE
    ticks = {"tickvals": xs, "ticktext": list(map(inert, places.values()))}
    measured = {"title": {"text": inert(axis)}, "type": "log" if is_log else "linear", **ticks}
    return drawing(traces, look(title, y=unit, zero=True), x=measured)
