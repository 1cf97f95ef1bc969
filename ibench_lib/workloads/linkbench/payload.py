"""The data of links and nodes: their sizes, and bytes that can be compressed about as well as real ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_MOTIF, _CHUNK = 512, 128


@dataclass(frozen=True)
class Payload:
    """Values of about `median` bytes, at most `largest`: bytes from `low` to `high`.

    They consist of chunks of up to 128 bytes. A chunk has random bytes with probability `fresh`, and else a part of a
    text of 512 bytes, which a table has once for each seed.
    """

    median: float
    largest: int
    low: int
    high: int
    fresh: float
    number: int

    def sizes(self, random: np.random.Generator, count: int) -> Array:
        """Sizes of so many values, in bytes."""
        drawn = np.rint(np.exp(random.normal(np.log(self.median), 1.0, count)))
        return np.minimum(drawn, self.largest).astype(np.int64)

    def hex_values(self, random: np.random.Generator, seed: int, count: int) -> list[str]:
        """So many values, each in hexadecimal digits."""
        sizes = self.sizes(random, count)
        ends = np.cumsum(sizes)
        total = int(ends[-1]) if count else 0
        chunks = (sizes + _CHUNK - 1) // _CHUNK
        # Position in its value, and the number of its chunk, of each byte.
        position = np.arange(total) - np.repeat(ends - sizes, sizes)
        first_chunk = np.cumsum(chunks) - chunks
        chunk = np.repeat(first_chunk, sizes) + position // _CHUNK
        fresh = random.random(int(chunks.sum())) < self.fresh
        start = random.integers(0, _MOTIF, len(fresh))
        motif = self._motif(seed)
        new = random.integers(self.low, self.high + 1, total, dtype=np.uint8)
        made = np.where(fresh[chunk], new, motif[(start[chunk] + position) % _MOTIF])
        text, twice = made.tobytes().hex(), (2 * ends).tolist()
        return [text[low:high] for low, high in zip([0, *twice], twice, strict=False)]

    def _motif(self, seed: int) -> Array:
        random = np.random.default_rng([seed, 0, self.number])
        return random.integers(self.low, self.high + 1, _MOTIF, dtype=np.uint8)


OF_LINKS = Payload(8.0, 254, 32, 100, 0.225, 0)
OF_NODES = Payload(128.0, 1 << 20, 50, 220, 0.63, 1)
