"""The time of the query that steps over rows that are not yet purged."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.analysis.frames import repeats, steps_of
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.drawing import Drawing, categories, dbms_of, drawing, drawn, numbers, runs_of
from ibench_lib.show.kit.look import look
from ibench_lib.show.kit.theme import inert

_TICKS = {
    unit * 10**power: f"{10**power} {name}"
    for unit, name in ((1e-6, "us"), (1e-3, "ms"), (1.0, "s"))
    for power in range(3)
}
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star")


@answers("get_min", "No query to draw.")
@drawn
def get_min_chart(frame: pl.DataFrame) -> Drawing:
    """Seconds of get_min per step on a log scale (`get_min`), worst client: a large dot is the median of the repeats.

    Small dots are the repeats or, for a single run, its clients. No line joins steps: they are no series.
    """
    traces: list[dict[str, Any]] = []
    shown = frame.filter(pl.col("get_min_s").is_not_null())
    several = repeats(shown) > 1 if len(shown) else False
    for label, position, rows in dbms_of(shown) if several else runs_of(shown):
        colour, _ = theme.series(position)
        dots = rows if several else rows.explode("client_seconds").with_columns(get_min_s="client_seconds")
        traces.append(
            {
                "type": "scatter", "x": [inert(step) for step in dots["step"]], "y": numbers(dots["get_min_s"], 6),
                "mode": "markers", "marker": {"color": colour, "size": 5, "opacity": 0.55}, "showlegend": False,
                "legendgroup": str(position), "name": inert(f"{label}, each {'run' if several else 'client'}"),
            }
        )  # fmt: skip
        medians = rows.group_by("step_id", "step").agg(pl.col("get_min_s").median()).sort("step_id")
        traces.append(
            {
                "type": "scatter", "x": [inert(step) for step in medians["step"]],
                "y": numbers(medians["get_min_s"], 6), "mode": "markers", "legendgroup": str(position),
                "name": inert(label),
                "marker": {"color": colour, "size": 10, "symbol": _SYMBOLS[position % len(_SYMBOLS)]},
            }
        )  # fmt: skip
    layout = look(f"Seconds of get_min, {frame['setup'][0]}", y="time of the query")
    if (frame["get_min_s"] == 0).any():
        text = "queries that took 0 seconds are not on this scale"
        place = {"x": 0, "y": 1.02, "xref": "paper", "yref": "paper", "showarrow": False, "xanchor": "left"}
        layout["annotations"] = [{"text": text, **place}]
    ticks = {"type": "log", "tickvals": list(_TICKS), "ticktext": list(_TICKS.values())}
    return drawing(traces, layout, x=categories(map(inert, steps_of(frame))), y=ticks)


@answers("get_min_dead_rows", "No query was timed next to dead rows.")
@drawn
def get_min_dead_rows_chart(frame: pl.DataFrame) -> Drawing:
    """Time of get_min over the dead rows before it (`get_min_dead_rows`), both on log scales: a point for each step.

    Points of several runs are medians. No dead row is drawn as one.
    """
    traces: list[dict[str, Any]] = []
    known = frame.filter(pl.col("get_min_s") > 0, pl.col("dead_rows").is_not_null(), step_status="complete")
    for label, position, rows in dbms_of(known):
        colour, dash = theme.series(position)
        of_steps = rows.group_by("step").agg(pl.col("dead_rows", "get_min_s").median()).sort("dead_rows", "step")
        traces.append(
            {
                "type": "scatter", "x": [max(value, 1.0) for value in numbers(of_steps["dead_rows"], 0)],
                "y": numbers(1e3 * of_steps["get_min_s"], 3), "text": [inert(step) for step in of_steps["step"]],
                "mode": "lines+markers+text", "textposition": "top center", "name": inert(label),
                "line": {"color": colour, "dash": dash, "width": 2},
            }
        )  # fmt: skip
    where = f", {frame['setup'][0]}" if len(frame) else ""
    layout = look(f"get_min by dead rows{where}", x="dead rows before the step", y="get_min (ms)")
    return drawing(traces, layout, x={"type": "log", "rangemode": "normal"}, y={"type": "log"})
