"""Which mutex or lock each dbms waits for most, and what was paid to know it."""

from __future__ import annotations

import polars as pl

from ibench_lib.analysis.frames import by_position, preparing_steps
from ibench_lib.base.wording import joined, shortened
from ibench_lib.show.kit.statements import asks, attention, columns_of, complete, results


@asks("waits", "waits_captured")
def waits_statements(waits: pl.DataFrame, waits_captured: pl.DataFrame) -> list[str]:
    """The mutex or lock that each dbms waits for most in each step; runs that paid for it; dbms without any waits.

    Steps whose throughput is no result, such as a warm-up, are left out unless there is no other. Those that only
    prepare others come last in their setup.
    """
    sentences: list[str] = []
    locks = results(complete(waits)).filter(pl.col("kind") != "file")
    last = preparing_steps(locks, "step_kind")
    for setup, step, rows in sorted(columns_of(locks), key=lambda place: (place[0], place[1] in last)):
        items = [item for name in by_position(rows) if (item := _top(rows.filter(pl.col("dbms") == name)))]
        if items:
            sentences.append(f"{step} in {setup}, the mutex or lock waited for most: {shortened(items)}.")
    paid = waits_captured.filter(pl.col("switched_on").is_not_null())["dbms"].unique(maintain_order=True).to_list()
    if paid:
        sentences.append(
            attention(
                f"instruments of performance_schema were switched on for {joined(paid)}, which slows the server down: "
                "do not compare the rates of these runs with those of runs without waits."
            )
        )
    for name in by_position(waits_captured):
        rows = waits_captured.filter(pl.col("dbms") == name)
        if not rows["captured"].any():
            reasons = rows["reason"].drop_nulls().unique(maintain_order=True).to_list()
            sentences.append(attention(f"no waits of {name} were captured: {'; '.join(reasons)}."))
    return sentences


def _top(rows: pl.DataFrame) -> str | None:
    """Of one dbms and step: by time where it is known, else by number."""
    timed = rows.filter(pl.col("timed"))
    column, unit = ("ms_per_1000", "ms") if len(timed) else ("waits_per_1000", "waits")
    medians = (timed if len(timed) else rows).group_by("dbms", "event").agg(pl.col(column).median())
    top = medians.sort([column, "event"], descending=[True, False], nulls_last=True).head(1).to_dicts()
    if not top or not top[0][column]:
        return None
    return f"{top[0]['event']} with {top[0]['dbms']} ({top[0][column]:,.2f} {unit} per 1,000 {rows['unit'][0]})"
