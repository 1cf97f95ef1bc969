"""What parts of a profile cost per operation in two builds, with the interval of the difference.

A run has a cost per operation, of which its samples say how it divides into parts. The cost varies between runs, and so
do shares: by chance, since samples are counted, and because no two runs do quite the same. Numbers in, numbers out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ibench_lib.stats.noise import FLOOR, PRIOR_DF, Difference, Judgement, level_of_all

LEAST_RUNS = 2
"""Runs with a profile that a side needs for an interval."""

LEAST_SAMPLES = 20
"""What a part must have on both sides together to be judged."""

_MOST_DF = 60.0

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RunProfile:
    """The profile of one run: its cost per operation in microseconds, its samples, and those of each part."""

    cost: float
    samples: int
    parts: Mapping[str, int]


@dataclass(frozen=True)
class PartCost(Judgement):
    """A part on both sides: microseconds per operation, share of the samples, samples.

    `difference` is B less A in microseconds, None where there are too few runs or samples.
    """

    name: str
    a: float
    b: float
    share_a: float
    share_b: float
    samples_a: int
    samples_b: int

    @property
    def change(self) -> float:
        """B less A, microseconds per operation."""
        return self.b - self.a


def part_costs(a: Sequence[RunProfile], b: Sequence[RunProfile]) -> list[PartCost]:
    """Every part of two sides, the largest change first among those that are clear, then the others.

    Raises
    ------
    ValueError : a side without a run, or a run without a sample.
    """
    if not a or not b or any(run.samples <= 0 for run in (*a, *b)):
        raise ValueError("each side needs a run, and each run a sample")
    names = sorted({name for run in (*a, *b) for name, samples in run.parts.items() if samples})
    of_a, of_b = _side(a, names), _side(b, names)
    differences = _differences(of_a, of_b) if min(len(a), len(b)) >= LEAST_RUNS else {}
    level = level_of_all([difference.p for difference in differences.values()])
    of_each = zip(
        names, *(figure.tolist() for figure in (of_a.costs, of_b.costs, of_a.share, of_b.share)),
        *(side.counts.astype(int).tolist() for side in (of_a, of_b)), strict=True,
    )  # fmt: skip
    parts = [PartCost(*one, difference=differences.get(place), level=level) for place, one in enumerate(of_each)]
    return sorted(parts, key=lambda part: (not part.is_clear, -abs(part.change), part.name))


@dataclass(frozen=True)
class _Side:
    """Of each part, `shares` by run, and the mean of all runs; of each run its cost and its samples."""

    cost: Array
    samples: Array
    shares: Array
    counts: Array

    @property
    def runs(self) -> int:
        return len(self.cost)

    @cached_property
    def share(self) -> Array:
        return np.asarray(self.shares.mean(axis=0), float)

    @cached_property
    def costs(self) -> Array:
        return np.asarray((self.cost[:, None] * self.shares).mean(axis=0), float)

    @cached_property
    def counted(self) -> Array:
        """The variance that counting samples gives the share of a run."""
        share = self.counts / self.samples.sum()
        return np.asarray(share * (1 - share) * (1 / self.samples).mean(), float)


def _side(runs: Sequence[RunProfile], names: Sequence[str]) -> _Side:
    counts = np.array([[run.parts.get(name, 0) for name in names] for run in runs], float).reshape(len(runs), -1)
    samples = np.array([run.samples for run in runs], float)
    cost = np.array([run.cost for run in runs], float)
    return _Side(cost, samples, counts / samples[:, None], counts.sum(axis=0))


def _differences(a: _Side, b: _Side) -> dict[int, Difference]:
    """B less A of each part with enough samples, by its place."""
    df = a.runs + b.runs - 2
    of_cost = max(sum(float(((np.log(s.cost) - np.log(s.cost).mean()) ** 2).sum()) for s in (a, b)) / df, FLOOR**2)
    own = np.asarray(sum(((side.shares - side.share) ** 2).sum(axis=0) for side in (a, b)) / df, float)
    counted, squared = (a.counted + b.counted) / 2, (a.share**2 + b.share**2) / 2
    bursts, extra = _noise(own, counted, squared)
    # The variance of a part's share is mixed with what all parts have in common, and never less than that.
    common = bursts * counted + extra * squared
    prior = _alike(own, common, df, a.counts + b.counts)
    own = np.maximum((df * own + prior * common) / (df + prior), common)
    by_cost, by_share = np.zeros(len(own)), np.zeros(len(own))
    for side in (a, b):
        cost = float(side.cost.mean())
        by_cost += (side.share * cost) ** 2 * of_cost / side.runs
        # A side with more samples, or on which the part is smaller, is counted better.
        by_share += cost**2 * own * (bursts * side.counted + extra * side.share**2) / common / side.runs
    total = by_cost + by_share
    freedom = total**2 / (by_cost**2 / df + by_share**2 / (df + prior))  # Welch and Satterthwaite
    of_each = zip((b.costs - a.costs).tolist(), np.sqrt(total).tolist(), freedom.tolist(), strict=True)
    enough = (a.counts + b.counts >= LEAST_SAMPLES).tolist()
    return {place: Difference(*one) for place, one in enumerate(of_each) if enough[place]}


def _alike(own: Array, common: Array, df: int, counts: Array) -> float:
    """How many degrees of freedom what parts have in common is worth: the more, the more alike their variances are.

    The variances of parts over their expectation are F distributed; their scatter gives its second parameter.
    """
    ratios = (own[counts >= LEAST_SAMPLES] / common[counts >= LEAST_SAMPLES]) if len(own) else own
    if len(ratios) < LEAST_SAMPLES:
        return PRIOR_DF
    scatter = df * float(ratios.var(ddof=1) / ratios.mean() ** 2)
    return min(max((2 * df - 4 + 4 * scatter) / (scatter - 2), PRIOR_DF), _MOST_DF) if scatter > 2 else _MOST_DF


def _noise(own: Array, counted: Array, squared: Array) -> tuple[float, float]:
    """The variance of shares over all parts: so many times that of counting, and a share of their squares.

    A server does not do everything all the time, so samples come in bursts, which counts for small parts as well; and
    runs differ in what they do, which counts for large ones.
    """
    usable = (counted > 0) & (squared < 0.25)
    if not usable.any():
        return 1.0, FLOOR**2
    ratio, weight = own[usable] / counted[usable], squared[usable] / counted[usable]
    bursts = max(1.0, float(ratio[weight <= np.median(weight)].mean()))
    return bursts, max(FLOOR**2, float((ratio - bursts).sum() / weight.sum()))
