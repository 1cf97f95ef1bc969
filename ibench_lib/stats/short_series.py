"""Changes in a short series: 2 to 30 releases, each measured in the same shuffled rounds.

Two questions are answered apart. Do builds on both sides of a place differ (tier 1)? Chance is judged by permuting the
residuals of all runs. Has the level changed for good (tier 2)? Every build is one draw of code layout, which moves its
speed by some 1.5 % however often it is repeated; so releases are compared with how much neighbours scatter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ibench_lib.stats.noise import LEVEL, PRIOR_DF, Difference
from ibench_lib.stats.student import t_quantile

Matrix = NDArray[np.float64]
Kind = Literal["level", "differs", "edge"]

MIN_EFFECT = math.log(1.02)
LAYOUT_SD = 0.015
DRAWS = 1999
LEAST_ROUNDS, LEAST_ROUNDS_OF_TWO = 3, 5
FAR = 3.0
MOST_FAR = 0.15
"""Share of the runs: where more are far, they are how these builds run, and not what disturbed a few."""
_APART = 0.954  # the median distance of two draws from a normal distribution, in its standard deviations
MOST_RELEASES = 30


@dataclass(frozen=True)
class Boundary:
    """A change between release `at` - 1 and `at`, counted from 0. `first` and `end` bound the releases of its regimes.

    `difference` is that of the regimes, `p` its chance. level: a lasting change; edge: only one release lies beyond it;
    differs: the builds differ, but no more than builds of equal code may.
    """

    at: int
    first: int
    end: int
    kind: Kind
    difference: Difference
    p: float


@dataclass(frozen=True)
class SeriesChanges:
    """The boundaries of a series, and the change between two neighbours (log) that would be found in 4 of 5 cases.

    `values` are those that were judged: runs far from the others of their release are drawn in.
    """

    boundaries: tuple[Boundary, ...]
    detectable: float
    values: Matrix = field(compare=False, repr=False)


def why_not(releases: int, rounds: int) -> str | None:
    """Why a series of that shape cannot be judged; None if it can be."""
    if releases < 2:
        return "there is only one release"
    if releases > MOST_RELEASES:
        return f"there are {releases} releases; at most {MOST_RELEASES} are judged together"
    least = LEAST_ROUNDS_OF_TWO if releases == 2 else LEAST_ROUNDS
    if rounds < least:
        verb, noun = ("is", "round") if rounds == 1 else ("are", "rounds")
        return f"there {verb} {rounds} complete {noun} of repeats; {releases} releases need {least}"
    return None


def drawn_in(values: Matrix) -> Matrix:
    """The series with runs far from the others of their release drawn in: one slow run in five is the host's, mostly.

    Values are logarithms, of any number of series: (..., releases, rounds). A residual from the median of its release,
    less what its round has in common, may be FAR robust standard deviations: those of the differences between two
    rounds, since residuals from a median of three or four are too small to know the noise by. A series in which more
    than MOST_FAR of the runs are far stays as it is.
    """
    releases, rounds = values.shape[-2:]
    of_round = np.median(values - np.median(values, axis=-1, keepdims=True), axis=-2, keepdims=True)
    residuals = values - of_round
    residuals -= np.median(residuals, axis=-1, keepdims=True)
    pairs = np.stack([values[..., one] - values[..., other] for one, other in combinations(range(rounds), 2)], axis=-1)
    apart = np.abs(pairs - np.median(pairs, axis=-2, keepdims=True)).reshape(*values.shape[:-2], -1)
    sd = _median_of_positive(apart)[..., None, None] / _APART * math.sqrt(releases / max(releases - 1, 1))
    farthest = np.where(sd > 0, FAR * sd, np.inf)
    far = np.abs(residuals) > farthest
    far &= far.mean(axis=(-2, -1), keepdims=True) <= MOST_FAR
    return np.where(far, values - residuals + np.clip(residuals, -farthest, farthest), values)


def _median_of_positive(values: Matrix) -> Matrix:
    """Of the last axis, 0 if nothing is positive: in each pair of rounds, one distance is zero by its own median."""
    ordered = np.sort(values, axis=-1)
    last = values.shape[-1] - 1
    twice = (ordered == 0).sum(axis=-1, keepdims=True) + last
    low, high = (np.take_along_axis(ordered, np.minimum(at, last), -1) for at in (twice // 2, (twice + 1) // 2))
    middle: Matrix = (low + high)[..., 0] / 2
    return middle


def short_changes(values: Matrix, min_effect: float = MIN_EFFECT, seed: int = 1) -> SeriesChanges:
    """The changes in a series. `values`: logarithms, a row per release in order, a column per round.

    Raises ValueError where `why_not` has a reason.
    """
    if reason := why_not(*values.shape):
        raise ValueError(reason)
    series = _Series(values, seed)
    places = series.split(0, len(values))
    while places:
        steps = series.steps(places)
        smallest = min(places, key=lambda place: abs(steps[place]))
        if abs(steps[smallest]) >= min_effect:
            break
        places = sorted(set(places) - {smallest})
    lasting = series.lasting(places)
    boundaries = tuple(series.boundary(place, places, lasting) for place in places)
    return SeriesChanges(boundaries, series.detectable(min_effect), series.judged)


class _Series:
    """A series less the means of its rounds, with what permuted residuals look like."""

    def __init__(self, values: Matrix, seed: int) -> None:
        self.releases, self.rounds = values.shape
        self.judged = drawn_in(values)
        centred = self.judged - self.judged.mean(axis=0)
        self.means = centred.mean(axis=1)
        self.df = (self.releases - 1) * (self.rounds - 1)
        residuals = centred - self.means[:, None]
        self.sd = max(math.sqrt(float((residuals**2).sum()) / self.df), 1e-6)
        # Chance has outliers, too: what is permuted is as measured, and drawn in afterwards. From the median, since an
        # outlier among three moves their mean by a third of itself.
        pool = values - values.mean(axis=0)
        pool = pool - np.median(pool, axis=1, keepdims=True)
        pool = (pool - pool.mean()).ravel()
        drawn = np.random.default_rng(seed).permuted(np.broadcast_to(pool, (DRAWS, pool.size)), axis=1)
        cells = drawn_in(drawn.reshape(DRAWS, *values.shape))
        cells = cells - cells.mean(axis=1, keepdims=True)
        self.drawn_means = cells.mean(axis=2)
        within = cells - self.drawn_means[:, :, None]
        self.drawn_sd = np.maximum(np.sqrt((within**2).sum(axis=(1, 2)) / self.df), 1e-6)
        self.chances: dict[int, float] = {}

    def split(self, first: int, end: int) -> list[int]:
        """The places at which the releases from `first` to `end` differ, by recursion."""
        if end - first < 2:
            return []
        heights = self._heights(self.means[None, first:end])[0] / self.sd
        at = int(heights.argmax())
        drawn = (self._heights(self.drawn_means[:, first:end]) / self.drawn_sd[:, None]).max(axis=1)
        chance = (1 + int((drawn >= heights[at]).sum())) / (DRAWS + 1)
        if chance > LEVEL:
            return []
        place = first + at + 1
        self.chances[place] = chance
        return [*self.split(first, place), place, *self.split(place, end)]

    def _heights(self, means: Matrix) -> Matrix:
        """How far the means left and right of each place are apart, as a multiple of a run's standard error."""
        many = means.shape[1]
        left = np.arange(1, many)
        sums = np.cumsum(means, axis=1)
        apart = (sums[:, -1:] - sums[:, :-1]) / (many - left) - sums[:, :-1] / left
        heights: Matrix = np.abs(apart) / np.sqrt((1 / left + 1 / (many - left)) / self.rounds)
        return heights

    def regimes(self, place: int, places: list[int]) -> tuple[int, int]:
        """The first release of the regime before a place, and the end of the regime after it."""
        before = [other for other in places if other < place]
        after = [other for other in places if other > place]
        return (before[-1] if before else 0), (after[0] if after else self.releases)

    def steps(self, places: list[int]) -> dict[int, float]:
        """The change at each place, from regime to regime."""
        changes = {}
        for place in places:
            first, end = self.regimes(place, places)
            changes[place] = float(self.means[place:end].mean() - self.means[first:place].mean())
        return changes

    def lasting(self, places: list[int]) -> dict[int, Difference]:
        """The places at which the level has changed, with the change, by the scatter of neighbours."""
        kept = list(places)
        while kept:
            variance, df = self._scatter(kept)
            changes = {place: self._by_regimes(place, kept, variance, df) for place in kept}
            chances = {place: 1 - (1 - of.p) ** (self.releases - 1) for place, of in changes.items()}
            worst = max(kept, key=lambda place: chances[place])
            if chances[worst] <= LEVEL:
                return changes
            kept.remove(worst)
        return {}

    def _scatter(self, places: list[int]) -> tuple[float, float]:
        """The variance of a release's mean, and its degrees of freedom: neighbours without the places, and a prior."""
        noise = self.sd**2 / self.rounds
        steps = np.diff(self.means)
        steps = steps[[index for index in range(len(steps)) if index + 1 not in places]]
        prior = LAYOUT_SD**2 + noise
        if not len(steps):
            return prior, PRIOR_DF
        robust = float(np.median(steps**2)) / (2 * 0.4549)
        df = 0.37 * len(steps)  # a median of squares knows that part of what their mean knows
        return max((PRIOR_DF * prior + df * robust) / (PRIOR_DF + df), noise), PRIOR_DF + df

    def _by_regimes(self, place: int, places: list[int], variance: float, df: float) -> Difference:
        first, end = self.regimes(place, places)
        value = float(self.means[place:end].mean() - self.means[first:place].mean())
        return Difference(value, math.sqrt(variance * (1 / (end - place) + 1 / (place - first))), df)

    def boundary(self, place: int, places: list[int], lasting: dict[int, Difference]) -> Boundary:
        chance = self.chances[place]
        if place not in lasting:
            by_noise = self._by_regimes(place, places, self.sd**2 / self.rounds, self.df)
            return Boundary(place, *self.regimes(place, places), "differs", by_noise, chance)
        # Builds that only differ do not end a level, so its regimes reach to the next lasting change.
        first, end = self.regimes(place, list(lasting))
        of_level = lasting[place]
        chance = max(chance, min(1.0, 1 - (1 - of_level.p) ** (self.releases - 1)))
        alone = end - place == 1 or place - first == 1
        return Boundary(place, first, end, "edge" if alone else "level", of_level, chance)

    def detectable(self, least: float) -> float:
        """Of two neighbours, with the level divided by the number of places."""
        se = self.sd * math.sqrt(2 / self.rounds)
        level = LEVEL / (self.releases - 1)
        return max(t_quantile(level / 2, self.df) * se, least) + t_quantile(0.2, self.df) * se


def q_values(p_values: list[float]) -> list[float]:
    """Benjamini and Hochberg: the least share of chance at which each would still be reported."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted, least = [1.0] * len(p_values), 1.0
    for rank in range(len(order), 0, -1):
        least = min(least, p_values[order[rank - 1]] * len(order) / rank)
        adjusted[order[rank - 1]] = least
    return adjusted
