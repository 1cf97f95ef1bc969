"""History list length over time and at the end of each step; dead rows over time. No chart has both."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.analysis.frames import repeats, steps_of
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.drawing import (
    Drawing,
    band,
    categories,
    dbms_of,
    drawing,
    drawn,
    numbers,
    plotted,
    runs_of,
)
from ibench_lib.show.kit.look import height_of, look
from ibench_lib.show.kit.theme import inert


@answers(
    "purge_lag_series",
    "No sample was taken.",
    by=["step", "setup"],
    heading="step",
    anchor="purge-lag",
    fold=True,
    long=True,
)
@drawn
def purge_lag_chart(frame: pl.DataFrame) -> Drawing:
    """History list length over the time of one step, all dbms together (`purge_lag_series`).

    Where several samples share a point, the line is their mean and the band reaches from their min to their max.
    """
    return _over_time(frame, "hll", "History list length")


@answers(
    "dead_rows_series",
    "No sample was taken.",
    by=["step", "setup"],
    heading="step",
    anchor="dead-rows",
    fold=True,
    long=True,
)
@drawn
def dead_rows_chart(frame: pl.DataFrame) -> Drawing:
    """Dead rows of servers that count them over the time of one step (`dead_rows_series`), as `purge_lag_chart`."""
    return _over_time(frame, "dead", "Dead rows")


def _over_time(frame: pl.DataFrame, column: str, what: str) -> Drawing:
    several = repeats(frame) > 1
    traces: list[dict[str, Any]] = []
    listed: set[str] = set()
    for label, position, rows in runs_of(frame):
        colour, dash = theme.series(position)
        # The legend has complete repeats once; hovering tells which is which.
        name = rows["dbms"][0] if several and rows["run_status"][0] == "complete" else label
        times = numbers(rows["t_s"], 2)
        if int(rows["bucket_samples"].max() or 1) > 1:  # type: ignore[arg-type]
            traces += band(times, plotted(rows[f"{column}_min"], 0), plotted(rows[f"{column}_max"], 0), colour)
        traces.append(
            {
                "type": "scatter", "x": times, "y": plotted(rows[f"{column}_mean"], 1),
                "mode": "lines" if len(rows) > 1 else "markers", "name": inert(name), "legendgroup": inert(name),
                "showlegend": name not in listed, "hovertemplate": f"{inert(label)}: %{{y}}<extra></extra>",
                "line": {"color": colour, "dash": dash, "width": 1.25 if several else 2},
            }
        )  # fmt: skip
        listed.add(name)
    where, y = f"{frame['step'][0]}, {frame['setup'][0]}", what[0].lower() + what[1:]
    layout = look(f"{what} during {where}", x="seconds of the step", y=y, zero=True, time=where, what=y)
    return Drawing(traces, {**layout, "height": height_of(len(listed))})


@answers("purge_lag_at_step_end", "No step to draw.")
@drawn
def purge_lag_end_chart(frame: pl.DataFrame) -> Drawing:
    """History list length at the end of each step (`purge_lag_at_step_end`), one group of bars a step.

    Bars of several runs are as high as their median and carry their range; steps that did not complete have no bar.
    """
    traces: list[dict[str, Any]] = []
    steps = steps_of(frame)
    several = repeats(frame) > 1
    ended = pl.when(pl.col("step_status") == "complete").then(pl.col("history_list_length"))
    for label, position, rows in dbms_of(frame) if several else runs_of(frame):
        colour, _ = theme.series(position)
        of_step = rows.group_by("step").agg(middle=ended.median(), low=ended.min(), high=ended.max())
        bars = {row["step"]: row for row in of_step.drop_nulls().to_dicts()}
        known = [step for step in steps if step in bars]
        traces.append(
            {
                "type": "bar", "x": [inert(step) for step in known], "y": [bars[step]["middle"] for step in known],
                "name": inert(label), "marker": {"color": colour},
                "error_y": {
                    "array": [bars[step]["high"] - bars[step]["middle"] for step in known],
                    "arrayminus": [bars[step]["middle"] - bars[step]["low"] for step in known],
                    "color": theme.INK, "thickness": 1, "width": 3, "visible": several,
                },
            }
        )  # fmt: skip
    title = f"History list length at the end of each step, {frame['setup'][0]}"
    return drawing(traces, look(title, y="history list length", zero=True), x=categories(map(inert, steps)))
