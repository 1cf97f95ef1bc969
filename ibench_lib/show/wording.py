"""Text that tables and statements share: counts, lists, ratios, the words of a file's own comment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from ibench_lib.base.wording import count as count
from ibench_lib.show.verdicts import BETTER, ENOUGH, WORSE, coverage_pct

MOST_NAMED = 3
"""The most results that a sentence names; the table below it has all of them."""


def times(value: float) -> str:
    """Two decimals as in the tables; none where the number is large, two digits where it is small."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value >= 0.1 or value == 0 else f"{value:.2g}"


def shortened(items: Sequence[str], separator: str = "; ") -> str:
    """The first few items, and how many more there are."""
    more = len(items) - MOST_NAMED
    return separator.join(items[:MOST_NAMED]) + (f"{separator}and {more} more" if more > 0 else "")


def joined(items: Sequence[str]) -> str:
    """a; a and b; a, b and c."""
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def listed(values: pl.Series) -> list[Any]:
    """The distinct values in the order of their first rows, without NULLs."""
    return values.drop_nulls().unique(maintain_order=True).to_list()


def comment(text: str) -> str:
    """The text of the comment at the head of a file, without the lines that name its source."""
    words = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        if not line.startswith("# Source:"):
            words.append(line.lstrip("# ").rstrip())
    return " ".join(filter(None, words))


RANGE_OF_TWO = (
    "the interval is the range of the ratio, and no difference is called one. Chance alone sets two equal "
    "configurations apart in one of three such comparisons."
)
"""What two runs on a side can tell. It goes on after a colon."""


def coverage_said(runs: int) -> str:
    """What an interval of so many runs of each side is worth, and what chance does."""
    known = f"With {runs} runs of each, such an interval holds the true ratio in about {coverage_pct(runs)} % of cases"
    if runs > ENOUGH:
        return f"{known}."
    return (
        f"{known}, and chance alone sets two equal configurations apart in up to one of ten comparisons, but rarely so "
        f"far that all of it is below {WORSE} or above {BETTER}."
    )
