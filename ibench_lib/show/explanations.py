"""The explanations of a post: what is said of each step of two dbms, and the tables below it."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass

from great_tables import GT

from ibench_lib.ask.explain import explain, explained_steps
from ibench_lib.ask.explanation import Explanation
from ibench_lib.ask.pair import Pair
from ibench_lib.show.display import Html, Shown, sentence, sources
from ibench_lib.show.explain import cannot_say, notes, profile_statements, step_statements
from ibench_lib.show.html_ids import html_id


@dataclass(frozen=True)
class Explanations:
    """What a post explains of a pair: each step that both completed, in each setup that both have."""

    pair: Pair
    each: tuple[Explanation, ...]

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers that they were made from."""
        asked = [known.name for known in self.pair.asked]
        return tuple(name for name in asked if name in _QUESTIONS)


_STEPS, _PROFILES, _CHECKS = ("explain_steps",), ("profiled", "stacks"), "profile_checks"
_QUESTIONS = (*_STEPS, *_PROFILES, _CHECKS)


def explanations(chosen: Pair) -> Explanations:
    """Explain the difference of a pair in each of its steps that both completed."""
    return Explanations(chosen, tuple(explain(chosen, step, setup) for setup, step in explained_steps(chosen)))


def explained(found: Explanations) -> Html:
    """For each step the sentences on its difference, then what cannot be said, and what to know of the figures."""
    if not found.each:
        return sentence(
            found.pair.nothing("No step was completed by both, so there is nothing to explain."), "selected_runs"
        )
    parts = []
    for one in found.each:
        lines = [
            *((text, "", _STEPS) for text in step_statements(one)),
            *((text, "", _PROFILES) for text in profile_statements(one)),
            *((text, ' class="loud"', (*_STEPS, _PROFILES[0])) for text in cannot_say(one)),
            *((text, "", (*_STEPS, _CHECKS)) for text in notes(one)),
        ]
        items = "".join(
            f"<li{kind}>{html.escape(text)}{sources(*(name for name in asked if name in found.answers))}</li>"
            for text, kind, asked in lines
        )
        name = f"{one.step}, {one.setup}"
        parts.append(
            f'<h3 id="{html_id(f"{name}.explained")}">{html.escape(name)}</h3><ul class="statements">{items}</ul>'
        )
    sides = f"A is {found.pair.base}, B is {found.pair.other}."
    return Html(f'<p class="tested">{html.escape(sides)}</p>{"".join(parts)}')


def explained_by(
    found: Explanations, *functions: Callable[..., GT | None], nothing: str, palette: str = "default"
) -> Shown:
    """The table of each function for each step; `nothing` is the sentence where there is no table at all."""
    tables = [function(one, palette) for one in found.each for function in functions]
    items = tuple(table for table in tables if table is not None)
    return Shown(items or (sentence(found.pair.nothing(nothing)),), found.answers)
