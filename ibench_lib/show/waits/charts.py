"""Waits inside the server as bars: the top mutexes and locks of each dbms."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.show.kit import theme
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.drawing import Drawing, categories, dbms_of, drawing, drawn
from ibench_lib.show.kit.look import look
from ibench_lib.show.kit.theme import inert

_MOST = 12
_LONGEST = 60


@answers("waits", "No waits were captured.", by=["setup", "step", "source"])
@drawn
def waits_chart(frame: pl.DataFrame) -> Drawing:
    """The mutexes and locks of one step and source that cost most, per 1,000 operations (`waits`); files are left out.

    Milliseconds where the server times them, else waits. Bars of several runs are as long as their median.
    """
    locks = frame.filter(pl.col("kind") != "file")
    timed = bool(frame["timed"][0])
    column = "ms_per_1000" if timed else "waits_per_1000"
    unit = f"{'ms' if timed else 'waits'} per 1,000 {frame['unit'][0]}"
    medians = locks.group_by("dbms", "event").agg(pl.col(column).median())
    highest = medians.group_by("event").agg(pl.col(column).max()).sort([column, "event"], descending=[True, False])
    events = highest["event"].head(_MOST).to_list()
    found = {(row["dbms"], row["event"]): row[column] for row in medians.to_dicts()}
    traces: list[dict[str, Any]] = []
    for label, position, rows in dbms_of(locks):
        colour, _ = theme.series(position)
        name = rows["dbms"][0]
        known = [event for event in events if found.get((name, event)) is not None]
        traces.append(
            {
                "type": "bar", "x": [round(found[name, event], 4) for event in known],
                "y": [_short(event) for event in known], "customdata": [inert(event) for event in known],
                "hovertemplate": "%{customdata}: %{x}<extra>" + inert(label) + "</extra>", "orientation": "h",
                "name": inert(label), "marker": {"color": colour},
            }
        )  # fmt: skip
    layout = look(f"Top mutexes and locks in {frame['step'][0]}, {frame['setup'][0]}", x=unit, zero=True)
    height = 160 + 18 * len(events) * max(1, locks["dbms"].n_unique())
    y = categories(_short(event) for event in events[::-1])
    return drawing(traces, {**layout, "barmode": "group"}, y=y, height=height)


def _short(event: str) -> str:
    """The part of a name that tells it from others."""
    text = event.removeprefix("wait/synch/").removeprefix("wait/io/")
    return inert(text if len(text) <= _LONGEST else f"…{text[1 - _LONGEST :]}")
