"""NURand, the skewed random numbers of TPC-C, and the last names that are made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

SYLLABLES = ("BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING")
LAST_NAMES = tuple(a + b + c for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES)
"""The last name of each number from 0 to 999: a syllable for each of its three digits."""

A_NAME, A_CUSTOMER, A_ITEM = 255, 1023, 8191

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Constants:
    """The constants C of NURand of one seed: for last names in the load and in the run, customers and items."""

    name_load: int
    name_run: int
    customer: int
    item: int

    @classmethod
    def of(cls, seed: int) -> Constants:
        """The constants of a seed. Those of the names keep the distance that the specification demands (2.1.6.1)."""
        random = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 0])))
        load = int(random.integers(0, A_NAME + 1))
        distances = [distance for distance in range(65, 120) if distance not in (96, 112)]
        fitting = [run for run in range(A_NAME + 1) if abs(run - load) in distances]
        run = int(random.choice(fitting))
        return cls(load, run, int(random.integers(0, A_CUSTOMER + 1)), int(random.integers(0, A_ITEM + 1)))


def nurand(
    random: np.random.Generator, a: int, low: int, high: int, c: int | Array, size: int | tuple[int, ...]
) -> Array:
    """Numbers from `low` to `high`, both included, in an array of this size. `c` is one constant, or one of each."""
    drawn = random.integers(0, a + 1, size) | random.integers(low, high + 1, size)
    return (drawn + c) % (high - low + 1) + low
