"""Which question a table or a chart shows the answer of, declared where it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Drawn = TypeVar("Drawn", bound=Callable[..., Any])


def answers(
    question: str,
    nothing: str,
    *,
    by: str | Sequence[str] = "setup",
    heading: str | None = None,
    anchor: str = "",
    fold: bool | str = False,
    long: bool = False,
    once: Sequence[str] = (),
    **asked: str,
) -> Callable[[Drawn], Drawn]:
    """Mark a function of a table or a chart with the question whose answer it shows, and with how `draw` shows it.

    Parameters
    ----------
    nothing, by, heading, anchor, fold, once : as for `each`.
    long : without the rows of steps shorter than 1 s (`long_steps`).
    asked : parameters of the function that take the answers of further questions.
    """

    def mark(function: Drawn) -> Drawn:
        shown = {"nothing": nothing, "by": by, "heading": heading, "anchor": anchor, "fold": fold, "once": once}
        function.answers, function.long, function.asked = question, long, asked  # type: ignore[attr-defined]
        function.shown = shown  # type: ignore[attr-defined]
        return function

    return mark
