"""sysbench by its number of threads: all dbms on shared axes."""

from __future__ import annotations

import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl

from ibench_lib.show.kit import theme
from ibench_lib.show.kit.drawing import finish, numbers, runs_of
from ibench_lib.show.kit.theme import inert


def sysbench_threads_chart(frame: pl.DataFrame) -> go.Figure:
    """Transactions a second of one test by the number of threads (`sysbench_summary`): a line for each run."""
    figure = go.Figure()
    for label, position, rows in runs_of(frame):
        colour, dash = theme.series(position)
        of_run = rows.sort("threads")
        figure.add_scatter(
            x=of_run["threads"].to_list(),
            y=numbers(of_run["tps"], 0),
            mode="lines+markers",
            name=inert(label),
            line={"color": colour, "dash": dash, "width": 2},
        )
    where = f"{frame['test'][0]}, {frame['setup'][0]}" if len(frame) else ""
    return finish(figure, f"Transactions/s by threads, {where}", x="threads", y="transactions/s", zero=True)
