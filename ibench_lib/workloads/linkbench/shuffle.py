"""From ranks to ids and back: three fixed permutations of the ids, those of the original."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

LINKS, UNCORRELATED, NODES = 20343988438726021, 53238253823453, 4766565305853767165
"""Seeds: of links with the number of links of a node, of links without regard to it, and of node operations."""

_GROUPS = 1024
_MASK = (1 << 48) - 1


class JavaRandom:
    """The generator java.util.Random."""

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ 0x5DEECE66D) & _MASK

    def next_int(self, bound: int) -> int:
        """A number from 0, below `bound`."""
        if bound & (bound - 1) == 0:
            return (bound * self._next31()) >> 31
        while True:
            bits = self._next31()
            value = bits % bound
            if bits - value + bound - 1 < 1 << 31:
                return value

    def _next31(self) -> int:
        self._state = (self._state * 0x5DEECE66D + 0xB) & _MASK
        return self._state >> 17


class Shuffle:
    """A permutation of `nodes` ids, by its seed. Under 1,024 ids it changes nothing."""

    def __init__(self, seed: int, nodes: int) -> None:
        size = nodes // _GROUPS
        self._still = size == 0
        random = JavaRandom(seed)
        self._moves = np.array([0 if self._still else _GROUPS * random.next_int(size) for _ in range(_GROUPS)])
        self._sizes = _GROUPS * (size + (np.arange(_GROUPS) < nodes % _GROUPS))

    def ids(self, ranks: Array) -> Array:
        """The ids of these ranks, from 1."""
        if self._still:
            return ranks + 1
        group = ranks % _GROUPS
        moved: Array = 1 + (ranks + self._moves[group]) % self._sizes[group]
        return moved

    def ranks(self, ids: Array) -> Array:
        """The ranks of these ids, from 0."""
        if self._still:
            return ids - 1
        group = (ids - 1) % _GROUPS
        ranks: Array = (ids - 1 - self._moves[group]) % self._sizes[group]
        return ranks


@cache
def shuffle(seed: int, nodes: int) -> Shuffle:
    """The permutation of a seed, made once."""
    return Shuffle(seed, nodes)
