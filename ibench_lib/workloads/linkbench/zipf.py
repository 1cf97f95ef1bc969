"""Ranks by a Zipf distribution, as the original approximates it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_EXACT_BELOW = 100_000


class Zipf:
    """Ranks below `nodes` with this exponent, under 1."""

    def __init__(self, exponent: float, nodes: int) -> None:
        rest = 1 - exponent
        self._nodes, self._power = nodes, 1 / rest
        if nodes < _EXACT_BELOW:
            self._zeta = float((np.arange(1, nodes + 1) ** -exponent).sum())
        else:
            self._zeta = nodes**rest / rest + 0.58 - 1 / rest
        self._second = 1 + 2**-exponent
        # With one or two nodes, ranks 0 and 1 take all.
        beyond = 1 - self._second / self._zeta
        self._eta = (1 - (2 / nodes) ** rest) / beyond if beyond > 0 else 0.0

    def ranks(self, uniform: Array) -> Array:
        """The rank of each number from [0, 1)."""
        scaled = uniform * self._zeta
        ranks = np.floor(self._nodes * (self._eta * (uniform - 1) + 1) ** self._power).astype(np.int64)
        ranks = np.where(scaled < 1, 0, np.where(scaled < self._second, 1, ranks))
        return np.minimum(ranks, self._nodes - 1)


@cache
def zipf(exponent: float, nodes: int) -> Zipf:
    """The distribution, made once."""
    return Zipf(exponent, nodes)
