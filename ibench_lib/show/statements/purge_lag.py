"""Figures that are more than ten times the best of their column: purge lag and the query that it slows down."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import polars as pl

from ibench_lib.metrics import METRICS
from ibench_lib.show import theme
from ibench_lib.show.frames import by_position, measured, rows_of
from ibench_lib.show.statements.common import NOISE_UNKNOWN, caveated, caveats, columns_of, complete, unfinished
from ibench_lib.show.verdicts import FAR, ratio
from ibench_lib.show.wording import count, shortened

SLOW_S = 0.1
"""Seconds up to which no get_min is called slow."""


def purge_lag_statements(purge_lag_at_step_end: pl.DataFrame) -> list[str]:
    """Steps at whose end the history list of some is over ten times the shortest one, and over 1,000."""
    return _over_ten_times(
        purge_lag_at_step_end,
        "history_list_length",
        1000,
        lambda value: format(value, METRICS["hll"].format),
        "the history list at the end",
    )


def get_min_statements(get_min: pl.DataFrame) -> list[str]:
    """Steps whose first get_min took some over ten times as long as the fastest, and over 0.1 s."""
    return _over_ten_times(get_min, "get_min_s", SLOW_S, theme.seconds, "the get_min query")


def _over_ten_times(
    frame: pl.DataFrame, column: str, least: float, text: Callable[[float], str], what: str
) -> list[str]:
    said = []
    compared = 0
    most = 0
    for setup, step, rows in columns_of(complete(frame)):
        runs = {name: found for name in by_position(rows) if (found := measured(rows, name, step, column))}
        if len(runs) < 2:
            continue
        compared += 1
        most = max(most, *map(len, runs.values()))
        best = min(runs, key=lambda name: median(runs[name]))
        limit = max(FAR * median(runs[best]), least)
        over = sorted((name for name in runs if max(runs[name]) > limit), key=lambda name: -median(runs[name]))
        if over:
            mine = {name: [row for row in rows_of(rows, name, step) if row[column] is not None] for name in runs}
            items = [
                f"{name} ({', '.join([_item(runs[name], runs[best], limit, text), *caveats(mine[name])])})"
                for name in over
            ]
            said.append(
                f"{setup}, {step}: {what} is over {FAR:.0f} times the best, {text(median(runs[best]))} with "
                f"{caveated(best, mine[best])}: "
                f"{shortened(items, ', ')}."
            )
    if compared and not said:
        said.append(
            f"In every step, {what} is less than {FAR:.0f} times the best of the step, or less than {text(least)} "
            f"({count(compared, 'step')} compared)."
        )
    return [*([NOISE_UNKNOWN] if said and most == 1 else []), *said, *unfinished(frame)]


def _item(values: list[float], best: list[float], limit: float, text: Callable[[float], str]) -> str:
    """A value, with the range of its runs, and whether it is over the limit in all of them."""
    if len(values) == 1:
        return text(values[0])
    said = f"median {text(median(values))}, {text(min(values))} to {text(max(values))} in {len(values)} runs"
    over = sum(value > limit for value in values)
    found = ratio(values, best)
    if over < len(values):
        return f"{said}, over the limit in {over} of them"
    # Above the limit in every run, but the best itself varies.
    noisy = found is not None and found.low is not None and found.low <= FAR
    return f"{said}, not clear of the noise" if noisy else said
