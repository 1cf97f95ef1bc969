"""The types of transactions, how often each is in a deck, and how long users wait between them (specification 5.2).

Planning a run needs this, but nothing that draws inputs: this module does without numpy.
"""

from __future__ import annotations

from collections.abc import Sequence

TYPES = ("new_order", "payment", "order_status", "delivery", "stock_level")
DECK = (10, 10, 1, 1, 1)
"""How often each type is in a deck of 23, which a terminal shuffles and goes through."""
KEYING_S = dict(zip(TYPES, (18.0, 3.0, 2.0, 2.0, 2.0), strict=True))
THINK_S = dict(zip(TYPES, (12.0, 12.0, 10.0, 5.0, 5.0), strict=True))
"""The mean of each type."""


def mean_s(weights: Sequence[int]) -> float:
    """The mean of keying and thinking for a transaction, at a factor of 1. `weights` are those of the deck."""
    waits = [KEYING_S[kind] + THINK_S[kind] for kind in TYPES]
    return sum(weight * wait for weight, wait in zip(weights, waits, strict=True)) / sum(weights)
