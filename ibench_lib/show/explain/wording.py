"""An explanation as text: what the terminal and a post say of it, in the same words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from ibench_lib.analysis.explanation import Explanation as Explanation
from ibench_lib.analysis.explanation import Function as Function
from ibench_lib.analysis.explanation import Part as Part
from ibench_lib.analysis.explanation import Surroundings
from ibench_lib.analysis.explanation import Term as Term
from ibench_lib.base.wording import count
from ibench_lib.show.kit.table_cells import factor_text
from ibench_lib.stats.profile_costs import PartCost

Cost: TypeAlias = PartCost | Part
MOST_FUNCTIONS = 20
"""Rows of a table of functions."""

_NAMED = 3
_NOTHING = 1e-9
"""Microseconds: what adding and subtracting leave of 0."""


def statements(found: Explanation) -> list[str]:
    """What may be said of the difference, a sentence each: only what is clear, and that nothing is if so."""
    return [*step_statements(found), *profile_statements(found)]


def step_statements(found: Explanation, *, drawn: bool = False) -> list[str]:
    """What may be said by the figures of the whole step; `drawn`: a picture shows the rate and its terms."""
    return [*(_way_of_rate(found) if drawn else _rate(found)), *_processor(found), *_cpu(found)]


def cannot_say(found: Explanation) -> list[str]:
    """What the runs cannot tell, a line each."""
    return [f"Not known: {reason}." for reason in found.cannot]


def notes(found: Explanation) -> list[str]:
    """What to know of the figures, a line each."""
    return [f"Note: {note}." for note in found.notes]


def ratio_text(term: Term) -> str:
    """1.23x [1.20, 1.27]; without an interval 1.23x."""
    return f"{factor_text(math.exp(term.log))}x{_interval_text(term.interval)}"


def _interval_text(interval: tuple[float, float] | None) -> str:
    return f" [{factor_text(interval[0])}, {factor_text(interval[1])}]" if interval else ""


def us(value: float | None) -> str:
    """Microseconds with three digits, however small, so that rows add up; `-` for what was not captured."""
    if value is None:
        return "-"
    if abs(value) < _NOTHING:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.{2 - math.floor(math.log10(abs(value)))}f}".rstrip("0")


def change_text(part: Cost) -> str:
    """+0.41 [0.35, 0.47] microseconds."""
    if part.change is None:
        return ""
    ends = f" [{us(part.interval[0])}, {us(part.interval[1])}]" if part.interval else ""
    return f"{'+' if part.change > 0 else ''}{us(part.change)}{ends}"


def value_text(term: Term, value: float) -> str:
    """A value of a term with its unit."""
    text = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return f"{text}{term.unit}" if term.unit == "/s" else f"{text} {term.unit}".rstrip()


def rate_of(found: Explanation, term: Term) -> str:
    """What a term is called: that of the rate by what it counts."""
    return found.rate_label if term.name == "throughput" else term.label


def _rate(found: Explanation) -> list[str]:
    if not found.rate:
        return []
    rate, use, cost = found.rate
    if rate.difference is None:
        return [f"{found.rate_label}: {ratio_text(rate)}, of {count(len(found.runs[0]), 'run')} and "
                f"{count(len(found.runs[1]), 'run')}; the noise is unknown."]  # fmt: skip
    text = f"{found.rate_label} of B: {ratio_text(rate)} of A's"
    if not rate.is_clear:
        text += ", no difference found"
    both = f"CPU per operation {ratio_text(cost)}, CPU in use {ratio_text(use)}"
    return [f"{': '.join([text, *_way(found)]).rstrip('.')}. {both}."]


def _way_of_rate(found: Explanation) -> list[str]:
    if not found.rate or found.rate[0].difference is None:
        return _rate(found)  # a picture does not say that the noise is unknown
    open_ = "" if found.rate[0].is_clear else ", no difference found"
    return [f"{found.rate_label} of B{open_}: {way}" for way in _way(found)]


def _way(found: Explanation) -> list[str]:
    """Which one of the two terms of the rate it is that differs; nothing where both or neither do."""
    _, use, cost = found.rate
    if cost.is_clear and not use.is_clear:
        way = "more" if cost.log > 0 else "less"
        return [f"{way} CPU per operation, not {way} waiting."]
    if use.is_clear and not cost.is_clear:
        way = "less" if use.log < 0 else "more"
        return [f"{way} CPU in use; the CPU per operation does not clearly differ."]
    return []


def _processor(found: Explanation) -> list[str]:
    clear = [f"{term.label} {ratio_text(term)}" for term in found.processor if term.is_clear]
    if not found.processor or found.processor[0].difference is None:
        return []
    if not clear:
        return ["No difference found in instructions per operation, cycles per instruction and clock."]
    return [f"The server's CPU per operation, by part: {', '.join(clear)}."]


def _cpu(found: Explanation) -> list[str]:
    clear = sorted((part for part in found.cpu if part.is_clear), key=lambda part: -abs(part.change or 0))
    if not clear:
        return []
    items = [f"{part.label} {change_text(part)}" for part in clear]
    return [f"CPU per operation, in microseconds: {'; '.join(items)}."]


def profile_statements(found: Explanation) -> list[str]:
    """What may be said by the profiles of the server."""
    sentences = []
    functions = [one for one in found.self_costs if one.cost.is_clear and not one.moved]
    if functions:
        sentences.append(
            f"{_whole(found.server)}By function, in microseconds and without what it calls: "
            f"{_first([f'{one.cost.name} {change_text(one.cost)}' for one in functions], ', ')}."
        )
    elif any(one.cost.difference for one in found.self_costs):
        sentences += _without_own_time(found)
    moved = [f"{one.cost.name} {change_text(one.cost)}, while {around_text(one.around)}"
             for one in found.self_costs if one.around and one.moved]  # fmt: skip
    if moved:
        sentences.append(f"Cost that only moved from one function to another: {_first(moved)}.")
    untold = [f"{one.cost.name}: {around_text(one.around)}" for one in functions if one.around]
    if untold:
        sentences.append(f"It cannot be told whether work was added or only moved: {_first(untold)}.")
    parts = sorted((one for one in found.subsystems if one.is_clear), key=lambda one: -abs(one.change))
    if parts:
        items = [f"{one.name} {change_text(one)}" for one in parts[:_NAMED]]
        sentences.append(f"Parts of the server: {', '.join(items)}.")
    return sentences


def _whole(server: PartCost | None) -> str:
    """What all functions cost together, and that it cannot be told from noise where that is so."""
    if server is None:
        return ""
    open_ = "" if server.is_clear else ", no difference found"
    return f"Server CPU per operation, in microseconds: {change_text(server)}{open_}. "


def around_text(around: Surroundings) -> str:
    """What shows that the work of a function moved, or what leaves it open."""
    if around.is_same:
        return f"{around.what}, {around.cost.name}, changed by less than ±{us(around.within)}"
    missing = [side for side, of in (("A", around.cost.samples_a), ("B", around.cost.samples_b)) if not of]
    if missing:
        return f"{around.what}, {around.cost.name}, has no samples of {missing[0]}"
    return f"{around.what}, {around.cost.name}, changed by {change_text(around.cost)}"


def _without_own_time(found: Explanation) -> list[str]:
    """Of a pair in which no function by itself costs more or less: whether any does with all that it calls."""
    if any(one.cost.is_clear for one in found.self_costs):
        return []  # all of them moved
    whole = [f"{one.cost.name} {change_text(one.cost)}" for one in found.inclusive_costs if one.cost.is_clear]
    if not whole:
        return ["No difference found in any function, by itself or with all that it calls."]
    return [
        "No difference found in any function by itself.",
        f"Functions with all that they call, in microseconds of server CPU per operation: {_first(whole, ', ')}.",
    ]


def _first(items: Sequence[str], between: str = "; ") -> str:
    more = f" and {len(items) - _NAMED} more" if len(items) > _NAMED else ""
    return f"{between.join(items[:_NAMED])}{more}"
