"""LinkBench by its number of requesters: all dbms on shared axes."""

from __future__ import annotations

import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl

from ibench_lib.show import theme
from ibench_lib.show.charts.drawing import finish, numbers, runs_of
from ibench_lib.show.theme import inert


def requesters_chart(frame: pl.DataFrame) -> go.Figure:
    """Operations a second by the number of requesters (`linkbench_summary`): a line for each run."""
    figure = go.Figure()
    for label, position, rows in runs_of(frame.filter(pl.col("step") == "t" + pl.col("requesters").cast(pl.String))):
        colour, dash = theme.series(position)
        of_run = rows.sort("requesters")
        figure.add_scatter(
            x=of_run["requesters"].to_list(),
            y=numbers(of_run["ops_per_s"], 0),
            mode="lines+markers",
            name=inert(label),
            line={"color": colour, "dash": dash, "width": 2},
        )
    where = f", {frame['setup'][0]}" if len(frame) else ""
    return finish(figure, f"Operations/s by requesters{where}", x="requesters", y="operations/s", zero=True)
