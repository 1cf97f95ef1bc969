"""TPC-C over time: new orders per minute, and the disk and CPU that they took, all dbms on shared axes."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.show.kit import theme
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.drawing import Drawing, drawing, drawn, flat, intervals_said, line_mode, numbers, runs_of
from ibench_lib.show.kit.look import look
from ibench_lib.show.kit.theme import inert

_MB = 1 << 20


@answers("notpm_series", "No second was recorded.", by=["step", "setup"])
@drawn
def notpm_chart(frame: pl.DataFrame) -> Drawing:
    """New orders per minute over the time of one step (`notpm_series`): a line for each run.

    Where no second is known, each interval is flat.
    """
    of_seconds = frame.filter(pl.col("interval_s").is_null())["bucket_s"].to_list()
    every = [f"every {max(of_seconds):g} s"] if of_seconds else []
    every += [f"in {lengths}"] if (lengths := intervals_said(frame)) else []
    title = f"New orders per minute, {' or '.join(every)}".removesuffix(", ")
    return _lines(frame, "notpm", title, "NOTPM", 0, max(of_seconds, default=0.0))


@answers("device_series", "No sample was taken.", by=["step", "setup"])
@drawn
def disk_throughput_chart(frame: pl.DataFrame) -> Drawing:
    """MB/s that the data's device reads and writes over the time of one step (`device_series`), together."""
    moved = frame.filter(pl.col("series").is_in(["read_bytes_per_s", "written_bytes_per_s"]))
    keys = [column for column in moved.columns if column not in ("source", "series", "low", "middle", "high")]
    both = pl.when(pl.col("middle").count() == 2).then(pl.col("middle").sum() / _MB)
    total = moved.group_by(keys, maintain_order=True).agg(both.alias("mb_per_s"))
    return _lines(total, "mb_per_s", "Disk reads and writes", "MB/s", 2)


@answers("cpu_series", "No sample was taken.", by=["step", "setup"])
@drawn
def server_cpu_chart(frame: pl.DataFrame) -> Drawing:
    """CPUs that the host uses over the time of one step (`cpu_series`), user and system; 2.0 is two of them busy."""
    used = frame.filter((pl.col("source") == "host") & (pl.col("series") == "cpu_per_s"))
    return _lines(used, "middle", "CPU of the host", "CPUs", 3)


def _lines(frame: pl.DataFrame, column: str, title: str, unit: str, decimals: int, lasts_s: float = 0.0) -> Drawing:
    traces: list[dict[str, Any]] = []
    for label, position, rows in runs_of(frame):
        colour, dash = theme.series(position)
        of_run = flat(rows.sort("t_s"))
        traces.append(
            {
                "type": "scatter", "x": numbers(of_run["at_s"], 3 if intervals_said(rows) else 1),
                "y": numbers(of_run[column], decimals), "mode": line_mode(of_run[column]), "name": inert(label),
                "line": {"color": colour, "dash": dash, "width": 2},
            }
        )  # fmt: skip
    where = f"{frame['step'][0]}, {frame['setup'][0]}" if len(frame) else ""
    shown = f"{title}, {where}"
    what = f"{title}, {unit}"
    layout = look(shown, x="seconds of the step", y=unit, zero=True, time=where, what=what, lasts_s=lasts_s)
    return drawing(traces, layout)
