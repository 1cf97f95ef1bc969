"""Which question a frame is the answer to, so that what is drawn of it can lead to its SQL and data."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import polars as pl


class Answer(pl.DataFrame):
    """The answer of a question, or what was made from answers: `names` are theirs, as the evidence of a post has them.

    What polars makes of it alone or together with other answers has the names of all of them: by `filter`, `select`,
    `sort` and `join`, by groups and by lazy frames. A frame that comes by another way, such as `pl.concat`, gets them
    by `derived`.
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
    """A method of a frame, a lazy frame or groups whose result has the names of the answers that it was made from."""

    @functools.wraps(method)
    def keeping(self: Any, *arguments: Any, **options: Any) -> Any:
        made = method(self, *arguments, **options)
        known = (getattr(each, "names", ()) for each in (self, *arguments, *options.values()) if _is_kept(each))
        return _named(made, tuple(dict.fromkeys(name for names in known for name in names)))

    return keeping


def _is_kept(value: Any) -> bool:
    return isinstance(value, Answer) or type(value).__name__.startswith(_KEPT)


def _named(made: Any, names: tuple[str, ...]) -> Any:
    """What a method made, with names where it is made of a frame."""
    if isinstance(made, pl.DataFrame):
        return answer_of(made, *names)
    if isinstance(made, list | tuple):  # `partition_by`; a key with its group
        return type(made)(_named(each, names) for each in made)
    if type(made).__name__.endswith(("LazyFrame", "GroupBy")):
        # The same object: it has no other way to become one of a class that remembers names.
        if not _is_kept(made):
            kind: Any = type(made)
            made.__class__ = _kept(kind)
        made.names = names
    return made


_KEPT = "Answered"
_FRAMES = ("DataFrame", "LazyFrame", "GroupBy")


@functools.cache
def _kept(kind: Any) -> Any:
    """A class of lazy frames or of groups whose methods keep the names of answers."""
    return type(f"{_KEPT}{kind.__name__}", (kind,), _methods(kind))


def _methods(kind: Any) -> dict[str, Any]:
    """Those that give frames, or what frames are made of, each keeping the names."""
    public = {
        name: method
        for name, method in vars(kind).items()
        if not name.startswith("_") and not isinstance(method, classmethod | staticmethod | property)
    }
    giving = {
        name: method
        for name, method in public.items()
        if any(frame in str(getattr(method, "__annotations__", {}).get("return")) for frame in _FRAMES)
    }
    kept = {name: _keeping(method) for name, method in giving.items()}
    if kind.__name__.endswith("GroupBy"):
        kept["__iter__"] = lambda groups: (_named(group, groups.names) for group in kind.__iter__(groups))
    return kept


for _name, _method in _methods(pl.DataFrame).items():
    setattr(Answer, _name, _method)
