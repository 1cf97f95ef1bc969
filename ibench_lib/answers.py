"""Which question a frame is the answer to, so that what is drawn of it can lead to its SQL and data."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

ANSWER = "ibench.answer"
"""Key of an output's metadata: the name of the answer that it shows."""

_ANSWERS: dict[int, tuple[weakref.ref[pl.DataFrame], str]] = {}


def remember(frame: pl.DataFrame, name: str) -> None:
    """Note that a frame is the answer that stands under this name in the evidence."""
    number = id(frame)
    _ANSWERS[number] = (weakref.ref(frame, lambda _: _ANSWERS.pop(number, None)), name)


def name_of(frame: pl.DataFrame) -> str | None:
    """The name of the answer that a frame is; None for any other frame, also one made from an answer."""
    found = _ANSWERS.get(id(frame))
    return found[1] if found is not None and found[0]() is frame else None
