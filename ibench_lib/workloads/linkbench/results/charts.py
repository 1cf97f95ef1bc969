"""LinkBench by its number of requesters: all dbms on shared axes."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.show.kit import theme
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.drawing import Drawing, drawing, drawn, numbers, runs_of
from ibench_lib.show.kit.look import look
from ibench_lib.show.kit.theme import inert


@answers("linkbench_summary", "No step to show.")
@drawn
def requesters_chart(frame: pl.DataFrame) -> Drawing:
    """Operations a second by the number of requesters (`linkbench_summary`): a line for each run."""
    traces: list[dict[str, Any]] = []
    for label, position, rows in runs_of(frame.filter(pl.col("step") == "t" + pl.col("requesters").cast(pl.String))):
        colour, dash = theme.series(position)
        of_run = rows.sort("requesters")
        traces.append(
            {
                "type": "scatter", "x": of_run["requesters"].to_list(), "y": numbers(of_run["ops_per_s"], 0),
                "mode": "lines+markers", "name": inert(label), "line": {"color": colour, "dash": dash, "width": 2},
            }
        )  # fmt: skip
    where = f", {frame['setup'][0]}" if len(frame) else ""
    return drawing(traces, look(f"Operations/s by requesters{where}", x="requesters", y="operations/s", zero=True))


@answers("linkbench_summary", "No step to show.")
@drawn
def response_by_throughput_chart(frame: pl.DataFrame) -> Drawing:
    """Response times over operations a second (`linkbench_summary`): a line for each run, requesters at its points.

    Solid lines are the 99th percentile of all operations, dotted lines the median.
    """
    traces: list[dict[str, Any]] = []
    for label, position, rows in runs_of(frame.filter(pl.col("step") == "t" + pl.col("requesters").cast(pl.String))):
        colour, dash = theme.series(position)
        of_run = rows.sort("requesters")
        for column, name, line in (("p99_s", "p99", dash), ("p50_s", "median", "dot")):
            traces.append(
                {
                    "type": "scatter", "x": numbers(of_run["ops_per_s"], 0), "y": numbers(1e3 * of_run[column], 3),
                    "text": [str(requesters) for requesters in of_run["requesters"]],
                    "mode": "lines+markers+text" if column == "p99_s" else "lines+markers",
                    "textposition": "top center", "name": inert(f"{label}, {name}"),
                    "line": {"color": colour, "dash": line, "width": 2},
                }
            )  # fmt: skip
    where = f", {frame['setup'][0]}" if len(frame) else ""
    title = f"Response time by throughput{where}"
    return drawing(traces, look(title, x="operations/s", y="response time (ms)", zero=True))
