"""Worst responses that are far from the others."""

from __future__ import annotations

import polars as pl

from ibench_lib.analysis.frames import by_position, listed, rows_of
from ibench_lib.base.wording import count, joined, shortened
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.statements import asks, caveated, caveats, columns_of, complete, unfinished
from ibench_lib.show.kit.table_cells import unrecorded_notes

_TIMES, _SECONDS = 10.0, 0.1
"""A worst response stands out above this many times the best configuration's, and above this many seconds."""


@asks("response_time_histogram")
def response_statements(response_time_histogram: pl.DataFrame) -> list[str]:
    """Outliers of each step and operation among the worst responses, and the longest response of all."""
    sent = response_time_histogram.filter(
        (pl.col("timing") == "service") & pl.col("max_s").is_not_null() & pl.col("rated")
    )
    judged, unrecorded = complete(sent), unrecorded_notes(response_time_histogram)
    if judged.is_empty():
        return [*unrecorded, *unfinished(response_time_histogram)]
    sentences = []
    compared = 0
    for setup, step, of_step in columns_of(judged):
        for operation in of_step["operation"].unique(maintain_order=True):
            rows = of_step.filter(pl.col("operation") == operation)
            runs: dict[str, list[float]] = {name: [] for name in by_position(rows)}
            for name, max_s in zip(rows["dbms"], rows["max_s"], strict=True):
                runs[name].append(max_s)
            if len(runs) < 2:
                continue
            compared += 1
            best = min(runs, key=lambda name: max(runs[name]))
            limit = max(_TIMES * max(runs[best]), _SECONDS)
            outliers = sorted((name for name in runs if max(runs[name]) > limit), key=lambda name: -max(runs[name]))
            if outliers:
                mine = {name: rows_of(rows, name, step) for name in runs}
                items = [f"{name} ({', '.join([_item(runs[name], limit), *caveats(mine[name])])})" for name in outliers]
                sentences.append(
                    f"{setup}, {step}: the worst response of {operation} is more than {_TIMES:.0f}x the best of "
                    f"{len(runs)} results ({theme.seconds(max(runs[best]))} with {caveated(best, mine[best])}): "
                    f"{shortened(items, ', ')}."
                )
    if compared and not sentences:
        sentences.append(
            f"No worst response is both more than {_TIMES:.0f}x that of the best configuration and longer than "
            f"{theme.seconds(_SECONDS)} ({count(compared, 'comparison')})."
        )
    first = pl.col("step_id"), pl.col("setup"), pl.col("dbms_position"), pl.col("repeat"), pl.col("operation")
    longest = judged.sort(-pl.col("max_s"), *first).row(0, named=True)
    long = complete(response_time_histogram).filter(~pl.col("rated"), pl.col("max_s") > longest["max_s"])
    aside = f", {joined(listed(long['operation']))} aside" if len(long) else ""
    sentences.append(
        f"The longest response in a complete step{aside}: {theme.seconds(longest['max_s'])}, {longest['operation']} in "
        f"{longest['setup']}, {longest['step']} with {caveated(longest['dbms'], [longest])}."
    )
    return [*sentences, *unrecorded, *unfinished(response_time_histogram)]


def _item(runs: list[float], limit: float) -> str:
    over = [value for value in runs if value > limit]
    return theme.seconds(max(over)) + (f", in {len(over)} of {len(runs)} runs" if len(runs) > 1 else "")
