"""Text that tables and statements share: counts, lists, ratios, the words of a file's own comment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

MOST_NAMED = 3
"""Results that a sentence names; the table below it has them all."""


def times(value: float) -> str:
    """Two decimals as in the tables; none where the number is large, two digits where it is small."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value >= 0.1 or value == 0 else f"{value:.2g}"


def shortened(items: Sequence[str], separator: str = "; ") -> str:
    """The first few items, and how many there are beside them."""
    more = len(items) - MOST_NAMED
    return separator.join(items[:MOST_NAMED]) + (f"{separator}and {more} more" if more > 0 else "")


def joined(items: Sequence[str]) -> str:
    """a; a and b; a, b and c."""
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def count(number: int, what: str, several: str | None = None) -> str:
    """1 step, 3 steps; 1 index, 3 indexes."""
    return f"{number:,} {what if number == 1 else several or what + 's'}"


def listed(values: pl.Series) -> list[Any]:
    """What occurs, each once, in the order of its first row; NULLs are left out."""
    return values.drop_nulls().unique(maintain_order=True).to_list()


def comment(text: str) -> str:
    """The words of the comment that a file begins with, without the lines that name its source."""
    words = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        if not line.startswith("# Source:"):
            words.append(line.lstrip("# ").rstrip())
    return " ".join(filter(None, words))
