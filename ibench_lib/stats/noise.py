"""The noise of repeats, pooled over everything that was measured alike, and what it says of differences.

A table of values has a row for each thing measured (a dbms, a build) and a column for each round of repeats. Values are
logarithms, so that a difference is a relative one. The noise of one run is one figure for the whole table: with three
repeats a row knows little of its own noise, but seven rows together know much. A row whose noise is clearly larger than
that of the others has its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from ibench_lib.stats.student import f_tail, t_quantile, t_tail

LEVEL = 0.05
"""The chance of error that all statements of the library keep to."""

POWER = 0.8
"""The chance with which a change of the detectable size is found."""

LEAST_DF = 4
"""With fewer degrees of freedom for the noise there is no interval: two rows of two repeats have 2."""

ROUNDS_DF = 8
"""What rounds have in common is removed where that leaves so many degrees of freedom; with fewer it costs more."""

FLOOR = 0.001
"""No noise is taken to be less than 0.1 %: repeats that agree to the last digit are luck, or rounded."""

PRIOR_DF = 4
"""So many degrees of freedom weigh what rows have in common against a row's own noise, and tables against one table."""

_NOISIER = 0.01
_LEAST_OF_A_ROW = 3
"""Repeats of a row from which its own noise can set it apart: two that are far apart may just be unlucky."""

Table = Mapping[str, Mapping[int, float]]


@dataclass(frozen=True)
class Difference:
    """The difference of two rows of logarithms: its estimate, standard error and degrees of freedom."""

    value: float
    se: float
    df: float

    @cached_property
    def p(self) -> float:
        """The chance of so large a difference between equal rows."""
        return 2 * t_tail(abs(self.value) / self.se, self.df)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """The differences that a t test at this level does not reject."""
        half = t_quantile(level / 2, self.df) * self.se
        return self.value - half, self.value + half

    def detectable(self, level: float = LEVEL, least: float = 0.0) -> float:
        """The true difference that is found with a chance of POWER; `least`: smaller estimates do not count."""
        return max(t_quantile(level / 2, self.df) * self.se, least) + t_quantile(1 - POWER, self.df) * self.se


@dataclass(frozen=True, kw_only=True)
class Judged:
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
    degrees of freedom of each row; `apart` are rows that are clearly noisier than the others: `sd` leaves them out.
    """

    means: Mapping[str, float]
    runs: Mapping[str, int]
    sd: float
    df: int
    known: bool
    by_round: bool
    own: Mapping[str, tuple[float, float]]
    apart: frozenset[str] = frozenset()

    def difference(self, name: str, base: str) -> Difference | None:
        """`name` less `base`; None where the noise is not known."""
        if not self.known or name not in self.means or base not in self.means:
            return None
        value = self.means[name] - self.means[base]
        parts = [(variance / self.runs[row], df) for row in (name, base) for variance, df in [self._variance(row)]]
        total = sum(part for part, _ in parts)
        if name not in self.apart and base not in self.apart:
            return Difference(value, math.sqrt(total), self.df)
        # Welch and Satterthwaite: each side has a variance of its own.
        return Difference(value, math.sqrt(total), total**2 / sum(part**2 / df for part, df in parts))

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
        own, df = self.own[name]
        if name in self.apart:
            return max(own, self.sd**2), df
        together = (df * own + PRIOR_DF * self.sd**2) / (df + PRIOR_DF)
        return max(together, self.sd**2), self.df


def noise_of(table: Table, neighbours: tuple[float, int] = (0.0, 0)) -> Noise:
    """The noise of a table: row -> round -> logarithm. Rows may lack rounds; rows without any are left out.

    `neighbours` are rows that are not in the table: the sum of the squares of what their runs are away from the means
    of their rows, and its degrees of freedom.
    """
    rows = {name: values for name, values in sorted(table.items()) if values}
    means = {name: math.fsum(values.values()) / len(values) for name, values in rows.items()}
    runs = {name: len(values) for name, values in rows.items()}
    by_round = not neighbours[1] and _in_rounds(rows)
    residuals = {name: np.array([values[n] for n in sorted(values)]) - means[name] for name, values in rows.items()}
    dfs = {name: float(runs[name] - 1) for name in rows}
    if by_round:
        common = np.mean(list(residuals.values()), axis=0)
        residuals = {name: found - common for name, found in residuals.items()}
        dfs = {name: df * (1 - 1 / len(rows)) for name, df in dfs.items()}
    squares = {name: float(found @ found) for name, found in residuals.items()}
    total_df = round(sum(dfs.values())) + neighbours[1]
    apart = frozenset(name for name in _noisier(squares, dfs, neighbours) if runs[name] >= _LEAST_OF_A_ROW)
    kept = [name for name in rows if name not in apart]
    df = round(sum(dfs[name] for name in kept)) + neighbours[1]
    variance = max((sum(squares[name] for name in kept) + neighbours[0]) / df if df else 0.0, FLOOR**2)
    own = {name: (squares[name] / dfs[name] if dfs[name] else 0.0, dfs[name]) for name in rows}
    known = total_df >= LEAST_DF and df > 0
    return Noise(means, runs, math.sqrt(variance), df, known, by_round, own, apart)


def _in_rounds(rows: Table) -> bool:
    """Whether all rows have the same rounds, and enough of them to remove what a round has in common."""
    rounds = {frozenset(values) for values in rows.values()}
    return len(rounds) == 1 and (len(rows) - 1) * (len(next(iter(rounds))) - 1) >= ROUNDS_DF


def _noisier(squares: Mapping[str, float], dfs: Mapping[str, float], neighbours: tuple[float, int]) -> list[str]:
    """The rows with a variance above that of all others together, by an F test at 1 %."""
    found = []
    for name in squares:
        rest = neighbours[0] + sum(of for other, of in squares.items() if other != name)
        rest_df = neighbours[1] + sum(df for other, df in dfs.items() if other != name)
        if dfs[name] <= 0 or rest_df <= 0:
            continue
        above, below = squares[name] / dfs[name], max(rest / rest_df, FLOOR**2)
        if f_tail(above / below, dfs[name], rest_df) < _NOISIER:
            found.append(name)
    return found


def level_of_all(p_values: Sequence[float], level: float = LEVEL) -> float:
    """The level at which each of several comparisons is judged, so that all of them together keep to `level`.

    Benjamini and Hochberg: of the comparisons with p at most the returned level, a share of at most `level` is expected
    to be chance. Intervals at that level (Benjamini and Yekutieli) leave out zero for just these, and of the intervals
    of differences that were found, a share of at most `level` misses the truth.
    """
    of_all = len(p_values)
    ranked = enumerate(sorted(p_values), start=1)
    found = max((rank for rank, p in ranked if p <= rank * level / of_all), default=1)
    return found * level / max(of_all, 1)


_Judged = TypeVar("_Judged", bound=Judged)


def judged_together(items: Sequence[_Judged]) -> tuple[_Judged, ...]:
    """The same, at the level at which all of them together keep to LEVEL."""
    level = level_of_all([one.difference.p for one in items if one.difference])
    return tuple(replace(one, level=level) for one in items)
