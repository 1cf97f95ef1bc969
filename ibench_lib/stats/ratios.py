"""Ratios of what repeats measured: every dbms to its base in every step, with the noise of all dbms in all steps.

There is one rule for the noise of a ratio, whichever page or command shows it. Numbers in, numbers out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from ibench_lib.stats.noise import Difference, noise_of, noises_of

Tables = Mapping[str, Mapping[str, Mapping[int, float]]]
"""One figure of a setup: step, dbms, repeat, value."""


def differences_of(
    tables: Tables, base_of: Callable[[str], str], aside: Collection[str] = ()
) -> dict[tuple[str, str], Difference | None]:
    """The logarithm of the ratio of each dbms to its base in each step, by (step, dbms), where both have a value.

    None: with one run on a side, or with too few to know the noise. `aside`: steps whose runs are not repeats of each
    other as those of the other steps are, such as a warm-up after a load or after a snapshot: each has only its own
    noise, and tells nothing of the others'.
    """
    logs = {
        step: {
            name: {number: math.log(value) for number, value in values.items()}
            for name, values in rows.items()
            if values and min(values.values()) > 0
        }
        for step, rows in tables.items()
    }
    filled = {step: rows for step, rows in logs.items() if rows}
    noises = noises_of({step: rows for step, rows in filled.items() if step not in aside})
    noises |= {step: noise_of(rows) for step, rows in filled.items() if step in aside}
    differences: dict[tuple[str, str], Difference | None] = {}
    for step, rows in tables.items():
        for name, values in rows.items():
            other = base_of(name)
            if name == other or not values or not rows.get(other):
                continue
            sides = [list(values.values()), list(rows[other].values())]
            if min(map(len, sides)) < 2:
                differences[step, name] = None
            elif min(*sides[0], *sides[1]) <= 0:
                differences[step, name] = difference_of(sides[0], sides[1])
            else:
                differences[step, name] = noises[step].difference(name, other)
    return differences


def difference_of(values: Sequence[float], base: Sequence[float]) -> Difference | None:
    """The difference of the logarithms of two sides with repeats, with their own noise; None where it is not known.

    A value of 0 counts as half the smallest one that is not. Values with a 0 are taken for counts, of 1 if they are
    whole and else of the smallest step from one value to another: a number of events varies by its root at least.
    """
    if min(len(values), len(base)) < 2:
        return None
    every = sorted({*values, *base})
    least = next((value for value in every if value > 0), 1.0) / 2
    sides = {
        name: {number: math.log(max(value, least)) for number, value in enumerate(side)}
        for name, side in (("base", base), ("values", values))
    }
    difference = noise_of(sides).difference("values", "base")
    if difference is None or every[0] > 0 or len(every) == 1:
        return difference
    steps = [after - before for before, after in pairwise(every)]
    event = 1.0 if all(float(value).is_integer() for value in every) else min(steps)
    positive = [value for value in (*values, *base) if value > 0]
    of_events = event / (sum(positive) / len(positive)) * (1 / len(values) + 1 / len(base))
    return replace(difference, se=max(difference.se, math.sqrt(of_events)))
