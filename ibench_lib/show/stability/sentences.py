"""Seconds in which throughput broke down."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.analysis.frames import by_position, rows_of
from ibench_lib.base.wording import shortened
from ibench_lib.show.kit.statements import asks, caveats, columns_of, complete, extent, unfinished

_SHARE = 0.01
_ENOUGH_SECONDS = 10


@asks("rate_stability")
def stability_statements(rate_stability: pl.DataFrame) -> list[str]:
    """Steps in which throughput fell under half of its median for some of the time of a run; or that there are none.

    Each run is judged by itself: what one run lost is not made up for by the others.
    """
    judged = complete(rate_stability).filter(pl.col("seconds_at_work") >= _ENOUGH_SECONDS)
    sentences = []
    for setup, step, rows in columns_of(judged):
        stalled = []
        for name in by_position(rows):
            mine = rows_of(rows, name, step)
            stalls = [row for row in mine if (row["stalled_seconds"] or 0) > _SHARE * row["seconds_at_work"]]
            if stalls:
                worst = max(stalls, key=lambda row: row["stalled_seconds"] / row["seconds_at_work"])
                stalled.append((worst["stalled_seconds"] / worst["seconds_at_work"], name, worst, len(stalls), mine))
        if stalled:
            stalled.sort(key=lambda of_dbms: -of_dbms[0])
            items = [
                f"{name} ({', '.join([_seconds(worst, runs, len(mine)), *caveats(mine)])})"
                for _, name, worst, runs, mine in stalled
            ]
            sentences.append(
                f"{setup}, {step}: throughput was below half of its own median for more than "
                f"{100 * _SHARE:.0f} % of the "
                f"seconds: {shortened(items, ', ')}."
            )
    if not sentences and len(judged):
        sentences.append(
            f"In no step of a run was throughput below half of its median for more than {100 * _SHARE:.0f} % of the "
            f"seconds ({extent(judged)} of {_ENOUGH_SECONDS} s or more)."
        )
    if not len(judged) and len(complete(rate_stability)):
        sentences.append(f"No step has {_ENOUGH_SECONDS} full seconds in which all clients were running.")
    return [*sentences, *unfinished(rate_stability)]


def _seconds(worst: dict[str, Any], runs: int, of_runs: int) -> str:
    """In 12 of 100 s, of the worst run, and in how many runs it was so."""
    seconds = f"{worst['stalled_seconds']:,} of {worst['seconds_at_work']:,} s"
    if of_runs == 1:
        return f"in {seconds}"
    return f"in {runs} of {of_runs} runs: {seconds}{' in the worst' if runs > 1 else ''}"
