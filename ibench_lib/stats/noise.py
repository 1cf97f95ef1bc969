"""The noise of repeats, pooled over everything that was measured alike, and what it says of differences.

A table of values has a row for each thing measured (a dbms, a build) and a column for each round of repeats. Values are
logarithms, so that a difference is a relative one. The noise of one run is one figure for the whole table: with three
repeats a row knows little of its own noise, but seven rows together know much. A row whose noise is clearly larger than
that of the others has its own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import NormalDist, median
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ibench_lib.stats.student import f_tail, t_quantile, t_tail

LEVEL = 0.05
"""The chance of error that all statements of the library keep to."""

POWER = 0.8
"""The chance with which a change of the detectable size is found."""

MOST_REPEATS = 200
"""No command advises more."""

LEAST_DF = 4
"""With fewer degrees of freedom for the noise there is no interval: two rows of two repeats have 2."""

ROUNDS_DF = 8
"""What rounds have in common is removed where that leaves so many degrees of freedom; with fewer it costs more."""

FLOOR = 0.001
"""No noise is taken to be less than 0.1 %: repeats that agree to the last digit are luck, or rounded."""

PRIOR_DF = 4
"""So many degrees of freedom weigh what rows have in common against a row's own noise, and tables against one table.

In an only table a row's own noise counts in full.
"""

_NOISIER_OVER_ALL, _NOISIER_HERE = 0.05, 0.01
"""Levels of the tests that set a row apart: over all tables, and in one of several."""

_MOST_TIMES = 3.0
"""In an only table a row that is set apart counts among the others with at most so many times their variance."""

_FEW_DF = 7.0
"""Degrees of freedom of the others below which a row's variance is put relative to that of all rows, itself too."""

_LEAST_OF_A_ROW = 1.2
"""Degrees of freedom from which a row's own noise tells something in one table: two runs may just be unlucky."""

_ENOUGH_ROWS = 3
"""Rows with repeats from which all tables together tell which of them is noisier."""

Table = Mapping[str, Mapping[int, float]]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """The difference of two rows of logarithms: its estimate, standard error and degrees of freedom.

    `own_df`, at most `df`: those that the runs of the two rows have by themselves, where `se` is of their own noise.
    No interval claims to know more, and what an interval of LEVEL holds is no difference, however many rows say so.
    """

    value: float
    se: float
    df: float
    own_df: float | None = None

    @cached_property
    def p(self) -> float:
        """The chance of so large a difference between equal rows: at most LEVEL just where the interval leaves out 0.

        Below LEVEL it is that of `df`, since comparisons that are judged together ask for more there.
        """
        times = abs(self.value) / self.se
        if self.own_df is not None and (by_own := 2 * t_tail(times, self.own_df)) > LEVEL:
            return by_own
        return 2 * t_tail(times, self.df)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """The differences that are not rejected at this level: it leaves out 0 just where `p` is at most `level`."""
        half = self._times(level) * self.se
        return self.value - half, self.value + half

    def _times(self, level: float) -> float:
        """So many standard errors are a difference at this level."""
        times = t_quantile(level / 2, self.df)
        return times if self.own_df is None else max(times, t_quantile(max(level, LEVEL) / 2, self.own_df))

    def detectable(self, level: float = LEVEL, least: float = 0.0) -> float:
        """The true difference that repeats like these find with a chance of POWER.

        Estimates smaller than `least` do not count. The noise is known with `df` degrees of freedom only, here and in
        those repeats: with few, a difference of some standard errors may have been said to be enough by a noise that is
        too low, and be judged by one that is too high. With z and t of the normal and the t distribution, k standard
        errors are enough where (k - t) E(s) = z sqrt(1 + (k^2 + t^2) Var(s)), of an estimate s of the noise 1.
        """
        z, t = NormalDist().inv_cdf(POWER), self._times(level)
        mean, variance = 1 - 1 / (4 * self.df), 1 / (2 * self.df)
        a, b, c = mean**2 - z**2 * variance, t * mean**2, t**2 * mean**2 - z**2 * (1 + t**2 * variance)
        times = (b + math.sqrt(max(b**2 - a * c, 0.0))) / a
        return max(times, least / self.se + t_quantile(1 - POWER, self.df)) * self.se

    def repeats_for(self, change: float, repeats: int, level: float = LEVEL, least: float = 0.0) -> int | None:
        """About how many repeats of each side find a true difference of `change`, where there are `repeats` now.

        None if MOST_REPEATS do not. It supposes that the noise of a run stays as it is, so that it is known better.
        """
        for more in range(repeats, MOST_REPEATS + 1):
            known = (more - 1) / (repeats - 1)
            own_df = None if self.own_df is None else self.own_df * known
            then = replace(self, se=self.se * math.sqrt(repeats / more), df=self.df * known, own_df=own_df)
            if then.detectable(level, least) <= change:
                return more
        return None


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What differs between two sides: `difference` is None where too little is known of it.

    `level` is that at which it was judged, together with others.
    """

    difference: Difference | None = None
    level: float = LEVEL

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of the difference, which leaves out 0 if that is clear."""
        return None if self.difference is None else self.difference.interval(self.level)

    @property
    def is_clear(self) -> bool:
        """Whether the difference is beyond noise, with all of them judged together."""
        return self.difference is not None and self.difference.p <= self.level


@dataclass(frozen=True)
class Noise:
    """The noise of a table. `sd` is that of one run, of `df` degrees of freedom; `by_round` if rounds were removed.

    `known`: whether the rows together have enough degrees of freedom for an interval. `own` has the variance and the
    degrees of freedom of each row here; `apart` has those that count for rows that are clearly noisier than the others,
    which `sd` leaves out. `prior`: so many degrees of freedom weigh `sd` against a row's own noise. `only`: no other
    table tells the noise of these rows, and there are enough of them to pool.
    """

    means: Mapping[str, float]
    runs: Mapping[str, int]
    sd: float
    df: int
    known: bool
    by_round: bool
    own: Mapping[str, tuple[float, float]]
    apart: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    prior: float = 0.0
    only: bool = False

    def difference(self, name: str, base: str) -> Difference | None:
        """`name` less `base`; None where the noise is not known."""
        if not self.known or name not in self.means or base not in self.means:
            return None
        value = self.means[name] - self.means[base]
        parts = [(variance / self.runs[row], df) for row in (name, base) for variance, df in [self._variance(row)]]
        total = sum(part for part, _ in parts)
        df: float = self.df
        if name in self.apart or base in self.apart:
            # Welch and Satterthwaite: each side has a variance of its own.
            df = total**2 / sum(part**2 / df for part, df in parts)
        if not self.only:
            return Difference(value, math.sqrt(total), df)
        own_df = total**2 / sum(part**2 / self._own_df(row) for row, (part, _) in zip((name, base), parts, strict=True))
        return Difference(value, math.sqrt(total), df, min(own_df, df))

    def interval(self, name: str, level: float = LEVEL) -> tuple[float, float] | None:
        """The interval of the mean of one row's runs; None where the noise is not known."""
        if not self.known or name not in self.means:
            return None
        variance, df = self._variance(name)
        half = t_quantile(level / 2, df) * math.sqrt(variance / self.runs[name])
        return self.means[name] - half, self.means[name] + half

    def steadied(self, typical: float) -> Noise:
        """The same, with no less noise than it and that of other tables, the variance `typical`, make together."""
        together = (self.df * self.sd**2 + PRIOR_DF * typical) / (self.df + PRIOR_DF)
        return replace(self, sd=max(self.sd, math.sqrt(together))) if self.df else self

    def _variance(self, name: str) -> tuple[float, float]:
        """The variance of a run of the row, never below that of all, and its degrees of freedom."""
        if name in self.apart:
            return max(self.apart[name][0], self.sd**2), self.apart[name][1]
        own, df = self.own[name]
        together = (df * own + self.prior * self.sd**2) / (df + self.prior) if df else 0.0
        return max(together, self.sd**2), self.df

    def _own_df(self, name: str) -> float:
        """The degrees of freedom of the row's noise: where that is above that of all, only its own runs tell it."""
        variance, df = self.own[name]
        return df if variance > self.sd**2 and df >= _LEAST_OF_A_ROW else self.df


def noise_of(table: Table) -> Noise:
    """The noise of a table: row -> round -> logarithm. Rows may lack rounds; rows without any are left out."""
    return noises_of({"": table})[""]


def noises_of(tables: Mapping[str, Table]) -> dict[str, Noise]:
    """The noise of several tables of the same rows, such as the steps that the same dbms ran.

    How noisy a row is, is a property of the row, so all tables together tell it. A row that is noisier than the others
    over all tables has in each the variance of the others, times how much noisier it is; a row that is so in one table
    only has its own variance there. The others have one variance in each table, which is not less than all tables
    together make likely. Of two rows, only what one table says counts. An only table hardly tells a noisy row from an
    unlucky one, so there no row has less than its own variance. Tables in which the same runs are off count as fewer
    (`_independent`).
    """
    filled = {key: {name: values for name, values in sorted(rows.items()) if values} for key, rows in tables.items()}
    repeated = {name for rows in filled.values() for name, values in rows.items() if len(values) > 1}
    # The one other of two rows does not tell how noisy a row is.
    few = len(repeated) < _ENOUGH_ROWS
    share = _independent(list(filled.values()))
    kept = sorted({name for rows in filled.values() for name in rows}) if few else _alike(filled, share)
    noises = {key: _noise(rows, kept, alone=len(filled) == 1 and not few) for key, rows in filled.items()}
    known = [noise.sd**2 for noise in noises.values() if noise.df]
    if len(known) < 2:
        return {key: replace(noise, only=not few) for key, noise in noises.items()}
    # What tables say alike, one says: then a row's own noise counts in full. Those without repeats say nothing.
    prior = PRIOR_DF * max(share * len(known) - 1, 0.0) / (len(known) - 1)
    noises = {key: replace(noise.steadied(median(known)), prior=prior) for key, noise in noises.items()}
    return _with_times(noises, kept, share)


def _noise(rows: Table, alike: Collection[str], *, alone: bool) -> Noise:
    """The noise of one table: rows that are not alike, and those that are noisier than these here, have their own."""
    kept = [name for name in rows if name in alike]
    spread, by_round = _spread(rows, kept)
    if not alone:
        lone = _noisier(spread, kept)
        kept = [name for name in kept if name not in lone]
        spread, by_round = _spread(rows, kept)
    df = sum(spread[name][1] for name in kept)
    variance = max(sum(spread[name][0] for name in kept) / df if df > 0 else 0.0, FLOOR**2)
    if alone and df > 0:
        # One table hardly tells a noisy row from an unlucky one, without which the others would look too quiet.
        others = [sums for name, sums in spread.items() if name not in kept]
        squares = df * variance + sum(min(mine, _MOST_TIMES * of * variance) for mine, of in others)
        variance = squares / (df + sum(of for _, of in others))
    own = {name: (squares / of if of else 0.0, of) for name, (squares, of) in spread.items()}
    return Noise(
        means={name: math.fsum(values.values()) / len(values) for name, values in rows.items()},
        runs={name: len(values) for name, values in rows.items()},
        sd=math.sqrt(variance),
        df=round(df),
        known=df > 0 and round(sum(of for _, of in spread.values())) >= LEAST_DF,
        by_round=by_round,
        own=own,
        apart={name: own[name] for name in rows if name not in kept},
    )


def _with_times(noises: Mapping[str, Noise], alike: Collection[str], share: float) -> dict[str, Noise]:
    """The noises, with what all tables, of which a `share` are independent, tell of the rows that are not alike."""
    times: dict[str, float] = {}
    dfs: dict[str, float] = {}
    for name in {name for noise in noises.values() for name in noise.means if name not in alike}:
        known = [(noise.own[name], noise.sd**2) for noise in noises.values() if name in noise.own and noise.df]
        dfs[name] = sum(df for (_, df), _ in known)
        times[name] = sum(df * own / of_others for (own, df), of_others in known) / dfs[name] if dfs[name] else 1.0
    with_times = {}
    for key, noise in noises.items():
        apart = dict(noise.apart)
        for name in apart:
            if dfs.get(name) and noise.df:
                variance, df = max(times[name], 1.0) * noise.sd**2, 1 / (1 / (share * dfs[name]) + 1 / noise.df)
                own, of_own = noise.own[name]
                # Here it may be noisier still.
                together = (of_own * own + PRIOR_DF * variance) / (of_own + PRIOR_DF)
                apart[name] = max(variance, together), df
        with_times[key] = replace(noise, apart=apart)
    return with_times


_Spread = dict[str, tuple[float, float]]
"""Of each row the sum of the squares of what its runs are away from its mean, and its degrees of freedom."""


def _spread(rows: Table, kept: Sequence[str]) -> tuple[_Spread, bool]:
    """How far runs are from the means of their rows, without what rounds have in common in the rows that are `kept`."""
    rounds = [sorted(values) for values in rows.values()]
    if rounds and all(one == rounds[0] for one in rounds):
        values = np.array([[row[number] for number in rounds[0]] for row in rows.values()])
        values -= values.mean(axis=1, keepdims=True)
        places = [place for place, name in enumerate(rows) if name in kept]
        df = np.full(len(rows), float(len(rounds[0]) - 1))
        by_round = (len(places) - 1) * (len(rounds[0]) - 1) >= ROUNDS_DF
        if by_round:
            values -= values[places].mean(axis=0)
            df[places] *= 1 - 1 / len(places)
        squares = (values**2).sum(axis=1)
        return dict(zip(rows, zip(squares.tolist(), df.tolist(), strict=True), strict=True)), by_round
    sums = {}
    for name, row in rows.items():
        of_row = np.array([row[number] for number in sorted(row)])
        sums[name] = (float(((of_row - of_row.mean()) ** 2).sum()), float(len(row) - 1))
    return sums, False


def _independent(tables: Sequence[Table]) -> float:
    """The share of the tables that count: 1 if they are independent, 1 / their number if they all say the same.

    A run that is slow in all of its steps, such as one on a host that was slow then, makes six steps tell as much of
    the noise as one. A mean of variances whose runs correlate by r varies as one of fewer that do not: the sum of r^2
    over all pairs says how many (Satterthwaite). Each row has the same weight, however noisy it is, and what r^2 is by
    chance is taken off.
    """
    names = sorted({name for rows in tables for name, row in rows.items() if len(row) > 1})
    if not names or len(tables) < 2:
        return 1.0
    rounds = sorted({number for rows in tables for row in rows.values() for number in row})
    values = np.array([[[rows.get(name, {}).get(at, math.nan) for at in rounds] for name in names] for rows in tables])
    measured = ~np.isnan(values)

    def away(from_mean_over: int, values: Values) -> Values:
        counts = np.maximum(measured.sum(axis=from_mean_over, keepdims=True), 1)
        means = np.where(measured, values, 0.0).sum(axis=from_mean_over, keepdims=True) / counts
        return np.where(measured, values - means, 0.0)

    values = away(2, values)
    sizes = np.sqrt((values**2).sum(axis=2, keepdims=True))
    values = away(1, values / np.where(sizes > 0, sizes, 1.0)).reshape(len(tables), -1)
    sizes = np.sqrt((values**2).sum(axis=1))
    told = sizes > 0
    if told.sum() < 2:
        return 1.0
    values = values[told] / sizes[told, None]
    df = np.maximum(
        measured.sum(axis=(1, 2)) - measured.any(axis=2).sum(axis=1) - measured.any(axis=1).sum(axis=1) + 1, 2
    )
    by_chance = 1 / np.sqrt(np.outer(df[told], df[told]))
    squares = ((values @ values.T) ** 2 - by_chance) / (1 - by_chance)
    return 1 / (1 + max(float(squares.sum() - np.trace(squares)), 0.0) / len(values))


def _alike(tables: Mapping[str, Table], share: float) -> list[str]:
    """The rows that are about as noisy as each other over all tables, by an F test of each against the others.

    In each table a row's variance is put relative to that of the others. The row that is furthest above them is taken
    out, and the rest is tested again; of more than three rows three at least stay.
    """
    kept = sorted({name for rows in tables.values() for name in rows})
    least = min(3, max(1, len(kept) - 1))
    while len(kept) > least:
        chances = _chances([_spread(rows, kept)[0] for rows in tables.values()], kept, share)
        worst = min(chances, key=lambda name: (chances[name], name), default="")
        if not worst or chances[worst] >= _NOISIER_OVER_ALL:
            break
        kept.remove(worst)
    return kept


def _chances(spreads: Sequence[_Spread], kept: Sequence[str], share: float) -> dict[str, float]:
    """The chance that a row is so much noisier than the other ones, of those that are noisier.

    `share`: so many of the tables are independent.
    """
    squares = np.array([[spread.get(name, (0.0, 0.0))[0] for name in kept] for spread in spreads])
    df = np.array([[spread.get(name, (0.0, 0.0))[1] for name in kept] for spread in spreads])
    squares = np.maximum(squares, df * FLOOR**2)
    rest, rest_df = squares.sum(axis=1, keepdims=True) - squares, df.sum(axis=1, keepdims=True) - df
    usable = (df > 0) & (rest_df > 0)
    # The mean of 1 / variance is df / (df - 2) times too high, and endless with few others: then the row counts too.
    many = rest_df > _FEW_DF
    others = np.where(many, rest / np.maximum(rest_df - 2, 1), (rest + squares) / np.maximum(rest_df + df, 1))
    relative = np.where(usable, squares / np.maximum(others, FLOOR**2), 0.0).sum(axis=0)
    of_rest = np.where(usable, np.where(many, rest_df, rest / np.maximum(others, FLOOR**2)), 0.0).sum(axis=0)
    mine, theirs = np.where(usable, df, 0.0).sum(axis=0), np.where(usable, rest_df, 0.0).sum(axis=0)
    chances = {}
    for place, name in enumerate(kept):
        if mine[place] > 0 and of_rest[place] > 0:
            ratio = float(relative[place] / mine[place] * theirs[place] / of_rest[place])
            if ratio > 1:
                chances[name] = f_tail(ratio, share * float(mine[place]), share * float(theirs[place]))
    return chances


def _noisier(spread: _Spread, kept: Sequence[str]) -> list[str]:
    """The rows with a variance above that of all others that are kept, by an F test at 1 %."""
    squares, df = (sum(spread[name][part] for name in kept) for part in (0, 1))
    noisier = []
    for name in kept:
        mine, of_mine = spread[name]
        if of_mine < _LEAST_OF_A_ROW or df - of_mine <= 0:
            continue
        ratio = mine / of_mine / max((squares - mine) / (df - of_mine), FLOOR**2)
        if ratio > 1 and f_tail(ratio, of_mine, df - of_mine) < _NOISIER_HERE:
            noisier.append(name)
    return noisier


def level_of_all(p_values: Sequence[float], level: float = LEVEL) -> float:
    """The level at which each of several comparisons is judged, so that all of them together keep to `level`.

    Benjamini and Hochberg: of the comparisons with p at most the returned level, a share of at most `level` is expected
    to be chance. Intervals at that level (Benjamini and Yekutieli) leave out zero for just these, and of the intervals
    of differences that were found, a share of at most `level` misses the truth.
    """
    of_all = len(p_values)
    ranked = enumerate(sorted(p_values), start=1)
    last_rank = max((rank for rank, p in ranked if p <= rank * level / of_all), default=1)
    return last_rank * level / max(of_all, 1)


_Judged = TypeVar("_Judged", bound=Judgement)


def judged_together(items: Sequence[_Judged]) -> tuple[_Judged, ...]:
    """The same, at the level at which all of them together keep to LEVEL."""
    level = level_of_all([one.difference.p for one in items if one.difference])
    return tuple(replace(one, level=level) for one in items)
