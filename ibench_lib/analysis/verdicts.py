"""When a number is good, bad or neither: the rules of the throughput tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Literal

import numpy as np

from ibench_lib.stats.noise import LEVEL, Difference
from ibench_lib.stats.ratios import difference_of

WORSE, BETTER = 0.95, 1.05
"""Thresholds of a value relative to the base's."""

SOUGHT = 1.1
"""For unclear results, commands say how many repeats would find this ratio."""

DIGITS = 20
"""Values below so many times the last digit that tables show differ by their rounding."""

FAR = 10.0
"""A figure of which less is better is far off above this many times the best of its column."""


@dataclass(frozen=True)
class Ratio:
    """A value relative to the base. `runs` are those of the side that has fewer.

    `low` and `high` are None with one run on a side. They are the 95 % interval of the ratio of geometric means, which
    does not depend on what stands next to it, or the range of the ratio: where the noise is not known (`p` is None),
    and where values are 0 (`of_zeros`). `comparisons` were judged together, at `level`, which is stricter
    than the interval. `detectable` is the logarithm of a ratio that would be marked with a chance of
    `stats.noise.POWER`. `difference` is that of the logarithms, where it is known.
    """

    value: float
    low: float | None = None
    high: float | None = None
    runs: int = 1
    p: float | None = None
    level: float = LEVEL
    comparisons: int = 1
    detectable: float | None = None
    of_zeros: bool = False
    difference: Difference | None = field(default=None, repr=False, compare=False)

    @property
    def repeats(self) -> int | None:
        """About how many repeats of each side would find a ratio of SOUGHT; None if not known, or over MOST_REPEATS."""
        if self.difference is None:
            return None
        return self.difference.repeats_for(math.log(SOUGHT), self.runs, self.level, math.log(BETTER))

    @property
    def inverse(self) -> Ratio:
        """The base relative to the value."""
        low, high = ((1 / end if end else math.inf) if end is not None else None for end in (self.high, self.low))
        return replace(self, value=1 / self.value if self.value else math.inf, low=low, high=high)

    @property
    def is_range(self) -> bool:
        """Whether there are repeats, but too few to know their noise."""
        return self.low is not None and self.p is None

    @property
    def bounds(self) -> Literal["interval", "range", ""]:
        """What `low` and `high` are; empty without them."""
        if self.low is None or self.high is None:
            return ""
        return "range" if self.p is None or self.of_zeros else "interval"

    @property
    def is_clear(self) -> bool:
        """Whether the difference is beyond a noise that is known."""
        return self.p is not None and self.verdict != "same"

    @property
    def verdict(self) -> Literal["better", "worse", "same"]:
        """Better or worse only if the ratio is beyond a threshold and, where the noise is known, no chance.

        A range is never either; of a single run the ratio decides.
        """
        if self.is_range or (self.p is not None and self.p > self.level):
            return "same"
        if self.value > BETTER:
            return "better"
        return "worse" if self.value < WORSE else "same"

    @property
    def is_even(self) -> bool:
        """Whether all of the interval is within the thresholds, so that no such difference is there."""
        known = self.p is not None and self.low is not None and self.high is not None
        return known and (self.low or 0) >= WORSE and (self.high or 0) <= BETTER


def ratio(values: Sequence[float], base: Sequence[float]) -> Ratio | None:
    """Ratio of the geometric means of repeats, with their own noise only; None for a zero base."""
    difference = difference_of(values, base)
    return ratio_of(values, base, difference)


def ratio_of(
    values: Sequence[float],
    base: Sequence[float],
    difference: Difference | None,
    level: float = LEVEL,
    comparisons: int = 1,
) -> Ratio | None:
    """Two sides whose difference was judged at a level, together with others; None for a base of zero."""
    if not values or not base or median(base) == 0:
        return None
    runs = min(len(values), len(base))
    if min(*values, *base) > 0 and runs > 1:
        point = math.exp(np.mean(_logs(values, 0)) - np.mean(_logs(base, 0)))
    else:
        point = float(median(values) / median(base))
    if runs < 2:
        return Ratio(point)
    low, high = _quotient(min(values), max(base)), _quotient(max(values), min(base))
    if difference is None:
        return Ratio(point, low, high, runs)
    of_zeros = min(*values, *base) <= 0
    if not of_zeros:
        low, high = (math.exp(end) for end in difference.interval())
    detectable = difference.detectable(level, math.log(BETTER))
    return Ratio(point, low, high, runs, difference.p, level, comparisons, detectable, of_zeros, difference)


def _logs(values: Sequence[float], least: float) -> list[float]:
    return [math.log(max(value, least)) for value in values]


def _quotient(above: float, below: float) -> float:
    if above == below:
        return 1.0
    return float(above / below) if below else float("inf")
