"""Ranks of figures, as published reports have them: where single runs tell no difference from noise.

A rank says where a figure stands among the others of its step, not that it differs from them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

import polars as pl

from ibench_lib.analysis.frames import repeats
from ibench_lib.analysis.verdicts import BETTER, WORSE

Rank = Literal["top", "bottom", "missed"]
"""Top or bottom quarter of the range, or below the target rate."""

QUARTER = 0.25
CLOSE = 0.8
"""Nothing is at the bottom if the lowest figure has at least this share of the highest."""


def ranks_of(values: Mapping[str, float], missed: Collection[str] = ()) -> dict[str, Rank]:
    """The ranks of figures of one step of which more is better, by result; those in the middle have none.

    The range goes from the lowest figure to the highest of a result that has not `missed` its target rate. What is at
    the bottom is called so even if it has missed the target as well. One result, or equal figures, have no range.
    """
    ranks: dict[str, Rank] = {name: "missed" for name in values if name in missed}
    kept = [value for name, value in values.items() if name not in ranks]
    if not kept:
        return ranks
    lowest, highest = min(values.values()), max(kept)
    quarter = QUARTER * (highest - lowest)
    if quarter <= 0:
        return ranks
    for name, value in values.items():
        if value <= lowest + quarter and lowest < CLOSE * highest:
            ranks[name] = "bottom"
        elif name not in ranks and value >= highest - quarter:
            ranks[name] = "top"
    return ranks


def rank_of_ratio(ratio: float) -> Literal["above", "below"] | None:
    """Whether a ratio to the base, rounded to whole percent, is above or below the thresholds of a difference."""
    percent = round(100 * ratio) if ratio < 1e6 else 1e8
    if percent > round(100 * BETTER):
        return "above"
    return "below" if percent < round(100 * WORSE) else None


def is_ranked(frame: pl.DataFrame, ranks: bool | None = None) -> bool:
    """Whether a table shows ranks: as asked for, by default where no result has several runs."""
    return repeats(frame) <= 1 if ranks is None else ranks
