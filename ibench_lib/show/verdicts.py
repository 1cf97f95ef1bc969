"""When a number is good, bad or neither: the rules of the throughput tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Grade = Literal["top", "middle", "bottom", "sla_failed"]

WORSE, BETTER = 0.95, 1.05
"""Thresholds of a value relative to the base's."""

FAR = 10.0
"""A figure of which less is better is far off above this many times the best of its column."""

ENOUGH = 3
"""Runs on each side from which a difference is called one. With two, chance parts equal configurations in 1 of 3."""

_RESAMPLES = 2000
_COVERAGE_PCT = {2: 65, 3: 91, 4: 90}
_COVERAGE_OF_MORE_PCT = 97


def grade_column(values: Mapping[str, float], sla_failures: Collection[str] = ()) -> dict[str, Grade]:
    """Grade the values of one column of an absolute throughput table.

    With min and max over the column (max without SLA failures): at or below min + (max - min) / 4 is bottom, unless
    min is at least 0.8 max; else an SLA failure is that; else at or above max - (max - min) / 4 is top.

    Parameters
    ----------
    values : dbms -> throughput, only what was measured.
    sla_failures : dbms that missed the step's target rate.
    """
    if not values:
        return {}
    low = min(values.values())
    high = max((value for name, value in values.items() if name not in sla_failures), default=low)
    quarter = (high - low) / 4
    even = low >= 0.8 * high

    def grade(name: str, value: float) -> Grade:
        if value <= low + quarter and not even:
            return "bottom"
        if name in sla_failures:
            return "sla_failed"
        return "top" if value >= high - quarter else "middle"

    return {name: grade(name, value) for name, value in values.items()}


@dataclass(frozen=True)
class Ratio:
    """A value relative to the base. `runs` are those of the side that has fewer.

    `low` and `high` are None with one run on a side, the range of the ratio with two, and with more they bound a
    bootstrap interval that is meant to hold the true ratio in 95 % of cases; see `coverage_pct` for what it does.
    """

    value: float
    low: float | None = None
    high: float | None = None
    runs: int = 1

    @property
    def is_range(self) -> bool:
        """Whether two runs are all that a side has."""
        return self.low is not None and self.runs < ENOUGH

    @property
    def verdict(self) -> Literal["better", "worse", "same"]:
        """Better or worse only when the interval, where there is one, clears the threshold; two runs never do."""
        if self.is_range:
            return "same"
        at_least = self.value if self.low is None else self.low
        at_most = self.value if self.high is None else self.high
        if at_least > BETTER:
            return "better"
        return "worse" if at_most < WORSE else "same"


def ratio(values: Sequence[float], base: Sequence[float]) -> Ratio | None:
    """Ratio of the medians of repeats, with what the repeats let it vary by; None for a zero base."""
    if not values or not base or np.median(base) == 0:
        return None
    point = float(np.median(values) / np.median(base))
    runs = min(len(values), len(base))
    if runs < 2:
        return Ratio(point)
    if runs < ENOUGH:
        return Ratio(point, _quotient(min(values), max(base)), _quotient(max(values), min(base)), runs)
    # A fixed seed, and an order of the values that is not that of the runs: the same lake gives the same post.
    random = np.random.default_rng(1)
    above = np.median(random.choice(np.sort(values), (_RESAMPLES, len(values))), axis=1)
    below = np.median(random.choice(np.sort(base), (_RESAMPLES, len(base))), axis=1)
    # A base of zero is an endless ratio, not one to leave out: the interval would look narrower than it is.
    sample = np.where(above == below, 1.0, np.inf)
    np.divide(above, below, out=sample, where=below > 0)
    low, high = np.quantile(sample, [0.025, 0.975], method="inverted_cdf")
    return Ratio(point, float(low), float(high), runs)


def coverage_pct(runs: int) -> int:
    """In how many of 100 cases a range or interval of so many runs of each side holds the true ratio.

    Found by simulation, with normal noise of 5 %; `tests/audit/test_marks.py` finds the same.
    """
    return _COVERAGE_PCT.get(runs, _COVERAGE_OF_MORE_PCT)


def _quotient(above: float, below: float) -> float:
    if above == below:
        return 1.0
    return float(above / below) if below else float("inf")
