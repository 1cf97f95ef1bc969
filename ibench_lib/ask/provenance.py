"""Which question a frame is the answer to, so that what is drawn of it can lead to its SQL and data."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import polars as pl

ANSWER = "ibench.answer"
"""Key of an output's metadata: the names of the answers that it shows."""


class Answer(pl.DataFrame):
    """The answer of a question, or what was made from answers: `names` are theirs, as the evidence of a post has them.

    What polars makes of it alone or together with other answers, as `filter`, `select`, `sort` and `join` do, has the
    names of all of them. A frame that comes by another way, such as `pl.concat`, gets them by `derived`.
    """

    names: tuple[str, ...] = ()


def answer_of(frame: pl.DataFrame, *names: str) -> Answer:
    """The frame, of which no data are copied, as the answer that stands under these names in the evidence."""
    answer = Answer(frame)
    answer.names = tuple(dict.fromkeys(names))
    return answer


def derived(frame: pl.DataFrame, *answers: pl.DataFrame) -> Answer:
    """A frame that was made from answers, with their names."""
    return answer_of(frame, *(name for answer in answers for name in names_of(answer)))


def names_of(frame: pl.DataFrame) -> tuple[str, ...]:
    """The names of the answers that a frame is or was made from; none for any other frame."""
    return frame.names if isinstance(frame, Answer) else ()


def _keeping(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a frame whose result has the names of the answers that it was made from."""

    @functools.wraps(method)
    def keeping(self: Answer, *arguments: Any, **options: Any) -> Any:
        made = method(self, *arguments, **options)
        if isinstance(made, pl.DataFrame):
            others = [other for other in (*arguments, *options.values()) if isinstance(other, Answer)]
            return derived(made, self, *others)
        return [derived(part, self) for part in made] if isinstance(made, list) else made

    return keeping


for _name, _method in vars(pl.DataFrame).items():
    # Also `partition_by`, which gives a list of frames.
    _gives = str(getattr(_method, "__annotations__", {}).get("return"))
    if not _name.startswith("_") and "DataFrame" in _gives and not isinstance(_method, classmethod | staticmethod):
        setattr(Answer, _name, _keeping(_method))
