"""The bins of every latency histogram: 64 equal ones per power of two of microseconds (definition in `schema.py`).

Processes that send load import this module: it needs nothing.
"""

from __future__ import annotations

HISTOGRAM_BINS_PER_OCTAVE = 64


def lower_edge_us(bin_number: int) -> float:
    """Smallest latency in microseconds that counts in a bin."""
    octave, step = divmod(bin_number, HISTOGRAM_BINS_PER_OCTAVE)
    return float(2**octave * (1 + step / HISTOGRAM_BINS_PER_OCTAVE))
