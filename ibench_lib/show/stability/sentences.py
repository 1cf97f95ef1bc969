"""Seconds in which throughput broke down."""

from __future__ import annotations

import polars as pl

from ibench_lib.analysis.frames import by_position, rows_of
from ibench_lib.base.wording import shortened
from ibench_lib.show.kit.statements import asks, caveats, columns_of, complete, extent, unfinished

_SHARE = 0.01
_ENOUGH_SECONDS = 10


@asks("rate_stability")
def stability_statements(rate_stability: pl.DataFrame) -> list[str]:
    """Steps in which throughput fell under half of its median for some of the time; or that there are none."""
    judged = complete(rate_stability).filter(pl.col("seconds_at_work") >= _ENOUGH_SECONDS)
    said = []
    for setup, step, rows in columns_of(judged):
        stalled = []
        for name in by_position(rows):
            mine = rows.filter(pl.col("dbms") == name)
            seconds, of_seconds = int(mine["stalled_seconds"].sum()), int(mine["seconds_at_work"].sum())
            if seconds > _SHARE * of_seconds:
                stalled.append((seconds / of_seconds, name, seconds, of_seconds))
        if stalled:
            stalled.sort(key=lambda found: -found[0])
            items = [
                f"{name} ({', '.join([f'in {seconds:,} of {of_seconds:,}', *caveats(rows_of(rows, name, step))])})"
                for _, name, seconds, of_seconds in stalled
            ]
            said.append(
                f"{setup}, {step}: throughput was below half of its own median for more than "
                f"{100 * _SHARE:.0f} % of the "
                f"seconds: {shortened(items, ', ')}."
            )
    if not said and len(judged):
        said.append(
            f"In no step was throughput below half of its median for more than {100 * _SHARE:.0f} % of the seconds "
            f"({extent(judged)} of {_ENOUGH_SECONDS} s or more)."
        )
    if not len(judged) and len(complete(rate_stability)):
        said.append(f"No step has {_ENOUGH_SECONDS} full seconds in which all clients were running.")
    return [*said, *unfinished(rate_stability)]
