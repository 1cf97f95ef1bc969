"""Log-linear latency histogram: 64 equal bins per power of two of microseconds (definition in `schema.py`).

A positive double holds its exponent and mantissa so that the top bits, read as an integer, already are the bin: one
shift bins a million latencies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ibench_lib.base.histogram_bins import HISTOGRAM_BINS_PER_OCTAVE, lower_edge_us

_SHIFT = 52 - (HISTOGRAM_BINS_PER_OCTAVE.bit_length() - 1)
_ZERO = 1023 * HISTOGRAM_BINS_PER_OCTAVE  # the bin of 1.0 before the shift to 0


def bin_latencies(nanoseconds: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[list[int], list[int]]:
    """Bins and their counts of latencies in nanoseconds; below one microsecond counts in bin 0."""
    if len(nanoseconds) == 0:
        return [], []
    microseconds = np.maximum(nanoseconds / 1000.0, 1.0)
    bins = (microseconds.view(np.int64) >> _SHIFT) - _ZERO
    counts = np.bincount(bins)
    used = np.flatnonzero(counts)
    return used.tolist(), counts[used].tolist()


def quantile_us(bins: list[int], counts: list[int], q: float) -> float:
    """The q-quantile in microseconds: the midpoint of the bin that holds it, within 0.8 % of the true value."""
    if not counts:
        raise ValueError("no latencies")
    cumulated = np.cumsum(counts)
    index = int(np.searchsorted(cumulated, q * cumulated[-1], side="left"))
    number = bins[min(index, len(bins) - 1)]
    return (lower_edge_us(number) + lower_edge_us(number + 1)) / 2
