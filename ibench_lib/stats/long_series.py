"""Changes in a long series: a point a night, neighbours alike because the host drifts.

A point that a single night explains is clipped; the memory of the noise is estimated, and chance is judged by series
with the same memory. Where a reference build was measured in the same nights and moves itself, the ratio to it is
judged; where there is none and nights depend on each other, nothing is said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ibench_lib.stats.noise import POWER, Difference
from ibench_lib.stats.short_series import MIN_EFFECT
from ibench_lib.stats.student import t_quantile

Points = NDArray[np.float64]
Judged = Literal["raw", "ratio", "nothing"]

LEAST_NIGHTS = 30
LEAST_SEGMENT = 5
LEVEL = 0.01
DRAWS = 999
QUIET = 0.3
"""A series whose neighbours depend on each other no more than this needs no reference."""

_HALF_WINDOW, _FAR_MAD = 5, 3.5
_MEMORY_LIMIT = 0.9


@dataclass(frozen=True)
class Step:
    """A change of level between night `at` - 1 and `at`; `first` and `end` bound the nights of its regimes."""

    at: int
    first: int
    end: int
    difference: Difference
    p: float


@dataclass(frozen=True)
class LongSeries:
    """What a series shows. `judged`: the series itself, its ratio to the reference, or nothing, for the reason `why`.

    `drift`: a straight line explains it as well as steps do. `phi`: the memory of its noise;
    `dependent`: neighbouring nights clearly depend on each other. `detectable`: the log of a
    change in the middle that would be found in 4 of 5 cases. `low_alarm`,
    `high_alarm`: the last night is below or above the last regime.
    """

    judged: Judged
    steps: tuple[Step, ...]
    drift: bool
    phi: float
    dependent: bool
    detectable: float
    why: str = ""
    low_alarm: bool = False
    high_alarm: bool = False


def long_changes(
    values: Points, reference: Points | None = None, min_effect: float = MIN_EFFECT, seed: int = 1
) -> LongSeries:
    """The changes in a series of logarithms, one a night, next to those of a reference build in the same nights.

    Raises ValueError for fewer than LEAST_NIGHTS nights, or a reference of another length.
    """
    if len(values) < LEAST_NIGHTS:
        raise ValueError(f"there are {len(values)} nights; {LEAST_NIGHTS} are needed")
    if reference is None:
        alone = _judge(values, min_effect, seed, "raw")
        if alone.dependent:
            why = "neighbouring nights depend on each other, and no reference build was measured"
            return LongSeries("nothing", (), False, alone.phi, True, alone.detectable, why)
        return alone
    if len(reference) != len(values):
        raise ValueError("the reference has other nights")
    of_reference = _judge(reference, min_effect, seed, "raw")
    quiet = not of_reference.dependent and not of_reference.steps and not of_reference.drift
    return _judge(values, min_effect, seed, "raw") if quiet else _judge(values - reference, min_effect, seed, "ratio")


def clipped(values: Points) -> Points:
    """The series with points far from the median of their neighbours (Hampel) replaced by it."""
    cleaned = values.copy()
    for index in range(len(values)):
        near = values[max(0, index - _HALF_WINDOW) : index + _HALF_WINDOW + 1]
        middle = float(np.median(near))
        spread = 1.4826 * float(np.median(np.abs(near - middle)))
        if abs(values[index] - middle) > _FAR_MAD * spread > 0:
            cleaned[index] = middle
    return cleaned


def _judge(values: Points, min_effect: float, seed: int, judged: Judged) -> LongSeries:
    series = clipped(values)
    random = np.random.default_rng(seed)
    chances: dict[int, float] = {}
    places = _split(series, 0, len(series), random, chances)
    while places:
        smallest = min(places, key=lambda place: abs(_change(series, place, places)))
        if abs(_change(series, smallest, places)) >= min_effect:
            break
        places.remove(smallest)
    residuals = series - _fitted(series, places)
    phi = _memory(series, residuals)
    # The greater of two estimates, with which chance is judged, is above QUIET too often where there is no memory.
    dependent = (_neighbours(residuals) + 1 + 2 * _neighbours(np.diff(series))) / 2 > QUIET
    drift = bool(places) and _line_is_as_good(series, residuals, len(places), phi)
    many = len(series)
    spread = float(np.std(residuals, ddof=1 + len(places)))
    steps = [] if drift else [_step(series, place, places, spread, phi, chances) for place in places]
    # A change in the middle; the square of the largest of many places is above that of one.
    se = 2 * spread * math.sqrt(_inflation(phi) / many)
    detectable = max((3.5 + t_quantile(1 - POWER, many - 2)) * se, min_effect)
    alarms = _alarms(values, places, spread)
    return LongSeries(
        judged, tuple(steps), drift, phi, dependent, detectable, low_alarm=alarms[0], high_alarm=alarms[1]
    )


def _alarms(values: Points, places: list[int], spread: float) -> tuple[bool, bool]:
    """Whether the last night lies below or above the regime before it, each by a one-sided test at 1 %."""
    regime = values[(places[-1] if places else 0) : -1]
    if len(regime) < LEAST_SEGMENT:
        return False, False
    far = (values[-1] - float(np.median(regime))) / (spread * math.sqrt(1 + 1 / len(regime)))
    limit = t_quantile(LEVEL, len(regime) - 1)
    return bool(far < -limit), bool(far > limit)


def _split(series: Points, first: int, end: int, random: np.random.Generator, chances: dict[int, float]) -> list[int]:
    part = series[first:end]
    if len(part) < 2 * LEAST_SEGMENT:
        return []
    at, height = _highest(part[None, :])
    place = int(at[0])
    residuals = part - _fitted(part, [place])
    phi = _memory(part, residuals)
    drawn = _highest(_alike(residuals, phi, random))[1]
    chance = (1 + int((drawn >= height[0]).sum())) / (DRAWS + 1)
    if chance > LEVEL:
        return []
    chances[first + place] = chance
    left = _split(series, first, first + place, random, chances)
    return [*left, first + place, *_split(series, first + place, end, random, chances)]


def _highest(series: Points) -> tuple[NDArray[np.intp], Points]:
    """For each row the place of its largest step, and the step's height over the spread that it leaves."""
    many = series.shape[1]
    left = np.arange(LEAST_SEGMENT, many - LEAST_SEGMENT + 1)
    sums = np.cumsum(series, axis=1)
    total, before = sums[:, -1:], sums[:, left - 1]
    gain = (before / left - (total - before) / (many - left)) ** 2 * left * (many - left) / many
    best = gain.argmax(axis=1)
    explained = np.take_along_axis(gain, best[:, None], axis=1)[:, 0]
    rest = np.maximum(((series - total / many) ** 2).sum(axis=1) - explained, 1e-12)
    return left[best], explained / rest


def _alike(residuals: Points, phi: float, random: np.random.Generator) -> Points:
    """Series without a change and with the memory `phi`, made of what of the residuals was new each night."""
    many, before = len(residuals), 20
    new = residuals[1:] - phi * residuals[:-1]
    drawn = random.choice(new - new.mean(), (DRAWS, many + before))
    made = np.zeros_like(drawn)
    made[:, 0] = drawn[:, 0]
    for night in range(1, many + before):
        made[:, night] = phi * made[:, night - 1] + drawn[:, night]
    return made[:, before:]


def _memory(series: Points, residuals: Points) -> float:
    """The AR(1) coefficient: the greater of that of the residuals and that of the differences, which no step hides."""
    steps = np.diff(series)
    return min(max(_neighbours(residuals), 1 + 2 * _neighbours(steps), 0.0), _MEMORY_LIMIT)


def _neighbours(values: Points) -> float:
    centred = values - values.mean()
    square = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / square if square > 0 else 0.0


def _fitted(series: Points, places: list[int]) -> Points:
    ends = [0, *places, len(series)]
    return np.concatenate([np.full(end - first, series[first:end].mean()) for first, end in pairwise(ends)])


def _change(series: Points, place: int, places: list[int]) -> float:
    first, end = _regimes(series, place, places)
    return float(series[place:end].mean() - series[first:place].mean())


def _regimes(series: Points, place: int, places: list[int]) -> tuple[int, int]:
    before = [other for other in places if other < place]
    after = [other for other in places if other > place]
    return (before[-1] if before else 0), (after[0] if after else len(series))


def _step(series: Points, place: int, places: list[int], spread: float, phi: float, chances: dict[int, float]) -> Step:
    first, end = _regimes(series, place, places)
    se = max(spread * math.sqrt(_inflation(phi) * (1 / (place - first) + 1 / (end - place))), 1e-9)
    df = max(len(series) / _inflation(phi) - 1 - len(places), 2.0)
    return Step(place, first, end, Difference(_change(series, place, places), se, df), chances[place])


def _inflation(phi: float) -> float:
    """By how much memory widens the variance of a mean."""
    return (1 + phi) / (1 - phi)


def _line_is_as_good(series: Points, residuals: Points, steps: int, phi: float) -> bool:
    """Whether a straight line explains the series as well as the steps, by BIC and the effective number of nights."""
    many = max(len(series) / _inflation(phi), 8.0)
    nights = np.arange(len(series), dtype=np.float64)
    line = series - np.polyval(np.polyfit(nights, series, 1), nights)
    bic = [
        many * math.log(max(float(rest @ rest) / len(series), 1e-12)) + parameters * math.log(many)
        for rest, parameters in ((line, 2), (residuals, 1 + 2 * steps))
    ]
    return bic[0] <= bic[1]
