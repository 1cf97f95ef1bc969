"""Keying and think times: how long the user of a terminal waits before the next transaction (specification 5.2.5).

Keying a transaction's input takes a fixed time. After the answer the user thinks for an exponentially distributed time,
cut off at ten times its mean. An option scales all of them by one factor.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ibench_lib.workloads.tpcc.inputs import TYPES

KEYING_S = dict(zip(TYPES, (18.0, 3.0, 2.0, 2.0, 2.0), strict=True))
THINK_S = dict(zip(TYPES, (12.0, 12.0, 10.0, 5.0, 5.0), strict=True))
"""The mean of each type."""
_LONGEST_THINK = 10


class Waits:
    """The waits of one terminal, from a seed of their own: its transactions are those of one that does not wait."""

    def __init__(self, factor: float, seed: np.random.SeedSequence) -> None:
        self._factor = factor
        self._random = np.random.Generator(np.random.PCG64(seed))
        self._think_s = 0.0

    def before(self, kind: str) -> int:
        """Nanoseconds from the last answer, or from the start, to when a transaction of this type is sent."""
        waited_s = self._think_s + KEYING_S[kind]
        self._think_s = THINK_S[kind] * min(self._random.exponential(), _LONGEST_THINK)
        return round(1e9 * self._factor * waited_s)


def mean_s(weights: Sequence[int]) -> float:
    """The mean of keying and thinking for a transaction, at a factor of 1. `weights` are those of the deck."""
    waits = [KEYING_S[kind] + THINK_S[kind] for kind in TYPES]
    return sum(weight * wait for weight, wait in zip(weights, waits, strict=True)) / sum(weights)
