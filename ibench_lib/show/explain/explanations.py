"""The explanations of a post: what is said of each step of two dbms, and the tables below it."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from ibench_lib.analysis.explain import explain, explained_steps
from ibench_lib.analysis.explanation import Explanation, Term
from ibench_lib.analysis.frames import step_text
from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.ask.pair import Pair
from ibench_lib.base.wording import capital
from ibench_lib.metrics import Better
from ibench_lib.show.compare.headline import pair_finding, tested
from ibench_lib.show.explain.wording import cannot_say, notes, profile_statements, rate_of, step_statements
from ibench_lib.show.headline import badges, first_screen, ran
from ibench_lib.show.kit.display import Html, Shown, listed_sentences, sentence, sources
from ibench_lib.show.kit.grid import Grid
from ibench_lib.show.kit.html_ids import html_id
from ibench_lib.show.kit.pieces import TLDR, TLDR_REST, Sentence
from ibench_lib.show.kit.strips import (
    RATE_WORDS,
    StripRow,
    below_each_other,
    marks_said,
    strips,
)


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
_SETTINGS = "fact_diff"
_MOST_SAID = 3
_BETTER: Mapping[str, Better] = {"throughput": "higher", "cpus_used": "neither", "cpu_us": "lower"}
_QUESTIONS = (*_STEPS, *_PROFILES, _CHECKS, _SETTINGS)


def explanations(chosen: Pair) -> Explanations:
    """Explain the difference of a pair in each of its steps that both completed."""
    return Explanations(chosen, tuple(explain(chosen, step, setup) for setup, step in explained_steps(chosen)))


def explained(found: Explanations) -> Html:
    """What was compared, and for each step a picture of rate and CPU, sentences on the difference, and what to know."""
    if not found.each:
        return sentence(
            found.pair.nothing("No step is complete for both A and B, so there is nothing to explain."), "selected_runs"
        )
    parts: list[Html] = []
    rates = found.pair.ask("step_throughput")
    several = len({one.setup for one in found.each}) > 1
    found_of: list[tuple[str, list[StripRow]]] = []
    for one in found.each:
        lines = [
            *((text, "", _STEPS) for text in step_statements(one, drawn=bool(one.rate))),
            *((text, "", _PROFILES) for text in profile_statements(one)),
            *((text, "loud", (*_STEPS, _PROFILES[0])) for text in cannot_say(one)),
            *((text, "", (*_STEPS, _CHECKS, _SETTINGS)) for text in notes(one)),
        ]
        items = [
            Sentence(text, sources(*(name for name in asked if name in found.answers)), kind)
            for text, kind, asked in lines
        ]
        rows = _rows(one)
        where = f"setup {one.setup}, " if several else ""
        found_of.append((f"{where}{step_text(rates, one.step, '{words} ({step})')}", rows[:1]))
        rest = [TLDR_REST] if rows and not parts else []
        parts.append(Html(_head(one, rates), _strip(rows, found.pair.palette), *rest, _said(items)))
    reservations = badges(found.pair.runs, rates, found.pair.excluded)
    codes = {code for one in found.each for code in (one.setup, one.step)}
    shown = [place for place in found_of if place[1]]
    first = [pair_finding(found.pair, shown, codes)] if shown else []
    return first_screen(tested(found.pair), reservations, TLDR, *first, *parts, ran(found.pair))


def _head(found: Explanation, rates: pl.DataFrame) -> str:
    """The heading of a step: in words before its name, if there are words; a table of contents has the name only."""
    name = f"{found.step}, {found.setup}"
    words, text = step_text(rates, found.step, "{words}"), html.escape(name)
    if words != found.step:
        text = f'<span class="words">{html.escape(capital(words))} · </span><span class="code">{text}</span>'
    return f'<h3 id="{html_id(f"{name}.explained")}">{text}</h3>'


def _said(items: Sequence[Sentence]) -> Html:
    """The sentences on a step: of many, all but the first are folded; what nobody should overlook never is."""
    first = [item for item in items if item.kind == "loud"]
    first = [item for item in items if item in first or item in items[:_MOST_SAID]]
    rest = [item for item in items if item not in first]
    return listed_sentences(items) if len(rest) < 2 else listed_sentences(first, rest)


def _rows(found: Explanation) -> list[StripRow]:
    """The rate, and the two terms that it is made of exactly, of B relative to A; empty without CPU."""
    rows = [StripRow(rate_of(found, term), _ratio(found, term), better=_BETTER[term.name]) for term in found.rate]
    return [replace(row, words=RATE_WORDS) if place == 0 else row for place, row in enumerate(rows)]


def _strip(rows: Sequence[StripRow], palette: str) -> Html:
    if not rows:
        return Html()
    interval = ", with its 95 % interval" if any(row.found and row.found.low is not None for row in rows) else ""
    note = f"Each dot: B / A{interval}. Rate = CPU in use / CPU per operation. {marks_said(rows)}"
    return below_each_other(strips([("B relative to A", rows)], palette), note)


def _ratio(found: Explanation, term: Term) -> Ratio:
    low, high = term.interval or (None, None)
    p = term.difference.p if term.difference else None
    return Ratio(math.exp(term.log), low, high, min(map(len, found.runs)), p, term.level)


def explained_by(found: Explanations, *functions: Callable[..., Grid | None], nothing: str) -> Shown:
    """The table of each function for each step; `nothing` is the sentence where there is no table at all."""
    tables = [function(one) for one in found.each for function in functions]
    items = tuple(replace(table, palette=found.pair.palette) for table in tables if table is not None)
    return Shown(items or (sentence(found.pair.nothing(nothing)),), found.answers)
