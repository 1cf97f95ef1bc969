"""Which question a frame is the answer to, so that what is drawn of it can lead to its SQL and data."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

ANSWER = "ibench.answer"
"""Key of an output's metadata: the names of the answers that it shows."""

_ANSWERS: dict[int, tuple[weakref.ref[pl.DataFrame], tuple[str, ...]]] = {}


def remember(frame: pl.DataFrame, *names: str) -> None:
    """Note that a frame is the answer, or made from the answers, that stand under these names in the evidence."""
    number = id(frame)
    _ANSWERS[number] = (weakref.ref(frame, lambda _: _ANSWERS.pop(number, None)), names)


def derived(frame: pl.DataFrame, *answers: pl.DataFrame) -> pl.DataFrame:
    """A new frame that was made from answers, for instance by a filter, which from now on has their names."""
    remember(frame, *dict.fromkeys(name for answer in answers for name in names_of(answer)))
    return frame


def names_of(frame: pl.DataFrame) -> tuple[str, ...]:
    """The names of the answers that a frame is or was `derived` from; none for any other frame."""
    found = _ANSWERS.get(id(frame))
    return found[1] if found is not None and found[0]() is frame else ()
