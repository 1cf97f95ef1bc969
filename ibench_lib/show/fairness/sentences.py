"""How far apart the clients of a write step finished."""

from __future__ import annotations

import polars as pl

from ibench_lib.analysis.frames import SHORT_S, by_position, median_run, rows_of
from ibench_lib.base.wording import shortened
from ibench_lib.metrics import METRICS
from ibench_lib.show.kit.statements import asks, caveated, columns_of, complete, extent, unfinished

_PCT, _SECONDS = 5.0, 1.0
"""Clients that finish further apart than this, in per cent of the fastest and in seconds, stand out."""


@asks("fairness")
def fairness_statements(fairness: pl.DataFrame) -> list[str]:
    """Where the clients finished far apart; or the largest difference, where they did not.

    Nothing is said of steps that nobody took a second for: what differs in them is chance.
    """
    judged = complete(fairness).filter(pl.col("diff_s").is_not_null() & pl.col("pct").is_not_null())
    longest = pl.col("max_duration_s").max().over("setup", "step")  # NULL where figures were published
    judged = judged.filter(longest.fill_null(SHORT_S) >= SHORT_S)
    spread: list[tuple[float, float, int, str, str, str]] = []
    alone: list[str] = []
    for setup, step, rows in columns_of(judged):
        for name in by_position(rows):
            runs = rows_of(rows, name, step)
            shown = median_run(runs, "diff_s")  # the run that the table shows
            if shown is not None:
                named = caveated(name, runs)
                spread.append((shown["pct"], shown["diff_s"], len(runs), setup, step, named))
                if not _is_apart(shown["pct"], shown["diff_s"]):
                    for row in runs:
                        if _is_apart(row["pct"], row["diff_s"]):
                            which = caveated(f"{name} r{row['repeat']}", [row])
                            alone.append(f"{_item(row['pct'], row['diff_s'], 1)} with {which} in {setup}, {step}")
    if not spread:
        return unfinished(fairness)
    spread.sort(key=lambda found: -found[0])
    apart = [found for found in spread if _is_apart(found[0], found[1])]
    rule = f"by more than {_SECONDS:.0f} s and by more than {_PCT:.0f} % of the fastest client's time"
    if apart:
        items = [f"{_item(*found)} with {found[5]} in {found[3]}, {found[4]}" for found in apart]
        text = f"The clients' finish times differ {rule}: {shortened(items)}."
    else:
        *_, setup, step, name = spread[0]
        of_median = " in the median run" if spread[0][2] > 1 else ""
        text = (
            f"Largest relative gap between the clients' finish times: {_item(*spread[0])}, {name} in {setup}, {step}. "
            f"No gap is both over {_SECONDS:.0f} s and over {_PCT:.0f} % of the fastest client's time{of_median} "
            f"({extent(judged)})."
        )
    more = [f"Single runs in which they differ by more than that: {shortened(alone)}."] if alone else []
    return [text, *more, *unfinished(fairness)]


def _is_apart(pct: float, seconds: float) -> bool:
    return pct > _PCT and seconds > _SECONDS


def _item(pct: float, seconds: float, runs: int, *_: str) -> str:
    share = format(pct, METRICS["fairness_pct"].format)
    several = f", in the median run of {runs}" if runs > 1 else ""
    return f"{format(seconds, METRICS['fairness_diff_s'].format)} s ({share} %{several})"
