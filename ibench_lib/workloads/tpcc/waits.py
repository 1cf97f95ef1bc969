"""Keying and think times: how long the user of a terminal waits before the next transaction (specification 5.2.5).

Keying a transaction's input takes a fixed time. After the answer the user thinks for an exponentially distributed time,
cut off at ten times its mean. An option scales all of them by one factor.
"""

from __future__ import annotations

import numpy as np

from ibench_lib.workloads.tpcc.mix import KEYING_S, THINK_S

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
