"""What explains the difference of two dbms in a step: terms, parts, functions, and what cannot be said."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Literal

from ibench_lib.stats.noise import Judgement
from ibench_lib.stats.profile_costs import PartCost

Quality = Literal["exact", "upper bound", "by difference", "lower bound"]


@dataclass(frozen=True)
class Term(Judgement):
    """A factor of the rate: geometric means of both sides, and the logarithm of B / A. `by_run` has both sides' values.

    `difference` is that logarithm with its noise, None where there are too few runs to know it.
    """

    name: str
    label: str
    unit: str
    a: float
    b: float
    log: float
    by_run: tuple[tuple[float, ...], tuple[float, ...]]

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the ratio B / A, whatever is judged together with it."""
        if self.difference is None:
            return None
        low, high = self.difference.interval()
        return math.exp(low), math.exp(high)


@dataclass(frozen=True)
class Part(Judgement):
    """A summand of a cost or a time, in microseconds: means of both sides; None where a side did not capture it.

    `difference` is B less A in microseconds; `quality` says what the figure is.
    """

    name: str
    label: str
    a: float | None
    b: float | None
    quality: Quality
    where: str = ""

    @property
    def change(self) -> float | None:
        """B less A, microseconds; None where a side has no figure."""
        return None if self.a is None or self.b is None else self.b - self.a


SAME = 0.5
"""What is around a function costs the same if it changed by less than this share of the function's own change."""


@dataclass(frozen=True)
class Surroundings:
    """What a function belongs to, `its caller` or `its part of the server`, and what that costs.

    `is_same`: the interval of its change lies within ±`within` microseconds, SAME times the change of the function.
    Otherwise it is not known whether it changed with the function.
    """

    what: str
    cost: PartCost
    within: float
    is_same: bool


@dataclass(frozen=True)
class Function:
    """A function in microseconds of server CPU per operation, `self` or inclusive of what it called.

    `around`, of a clear change: what shows that the work only moved to or from other functions, or what does not tell.
    None where work was added or removed: its caller or its part of the server clearly changed with it.
    """

    cost: PartCost
    subsystem: str
    caller: str
    around: Surroundings | None = None

    @property
    def moved(self) -> bool:
        """Whether a clear change is one of who does the work, not of how much."""
        return self.around is not None and self.around.is_same


@dataclass(frozen=True)
class Explanation:
    """What A and B differ in, in one step of one setup.

    Attributes
    ----------
    runs : ids of the runs of A and of B that completed the step.
    rate_label : what the rate counts, such as inserts/s.
    rate : rate = cpus_used / cpu_us: these three, in that order; empty where CPU was not captured.
    cpu : what cpu_us is the sum of.
    processor : server CPU = instructions * cycles per instruction / clock: empty where they were not counted.
    response : what the response time of a statement is made of, `response` itself first; empty without a valid one.
    self_costs, inclusive_costs : functions, the largest clear change first, moved ones last.
    subsystems : parts of the server; their costs sum to its CPU per operation.
    server : that sum, None without a profile of both sides.
    samples, unknown : of A and of B: samples of perf, and the share of them without a name.
    cannot : what cannot be said, and why, a line each.
    notes : what to know of what is said.
    """

    a: str
    b: str
    setup: str
    step: str
    runs: tuple[tuple[str, ...], tuple[str, ...]]
    rate_label: str
    rate: tuple[Term, ...]
    cpu: tuple[Part, ...]
    processor: tuple[Term, ...]
    response: tuple[Part, ...]
    self_costs: tuple[Function, ...]
    inclusive_costs: tuple[Function, ...]
    subsystems: tuple[PartCost, ...]
    server: PartCost | None
    samples: tuple[int, int]
    unknown: tuple[float, float]
    cannot: tuple[str, ...]
    notes: tuple[str, ...]


def as_json(explanation: Explanation) -> str:
    """The explanation for other programs: `format_version`, every term, part and function with its interval."""
    document = {
        "format_version": 1,
        "a": explanation.a, "b": explanation.b, "setup": explanation.setup, "step": explanation.step,
        "rate_label": explanation.rate_label, "runs_a": explanation.runs[0], "runs_b": explanation.runs[1],
        "rate": [_json(term) for term in explanation.rate],
        "cpu": [_json(part) for part in explanation.cpu],
        "processor": [_json(term) for term in explanation.processor],
        "response": [_json(part) for part in explanation.response],
        "self": [_function_json(one) for one in explanation.self_costs],
        "inclusive": [_function_json(one) for one in explanation.inclusive_costs],
        "subsystems": [_json(part) for part in explanation.subsystems],
        "server": explanation.server and _json(explanation.server),
        "samples": explanation.samples, "unknown_share": explanation.unknown,
        "cannot": explanation.cannot, "notes": explanation.notes,
    }  # fmt: skip
    return json.dumps(document, indent=1)


def _json(one: Term | Part | PartCost) -> dict[str, Any]:
    fields = {
        name: getattr(one, name)
        for name in ("name", "label", "unit", "a", "b", "log", "change", "share_a", "share_b", "samples_a", "samples_b",
                     "quality", "where", "by_run")
        if hasattr(one, name)
    }  # fmt: skip
    return {
        **fields,
        "interval": one.interval,
        "p": one.difference.p if one.difference else None,
        "clear": one.is_clear,
    }


def _function_json(one: Function) -> dict[str, Any]:
    around = one.around and {
        "name": one.around.cost.name, "interval": one.around.cost.interval, "within_us": one.around.within,
        "same": one.around.is_same,
    }  # fmt: skip
    return {**_json(one.cost), "subsystem": one.subsystem, "caller": one.caller, "moved": one.moved, "around": around}
