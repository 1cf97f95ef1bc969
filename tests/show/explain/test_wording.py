"""An explanation in words: only what is clear is said, and what cannot be said."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ibench_lib.analysis.explanation import Term
from ibench_lib.show.explain.wording import around_text, cannot_say, change_text, statements, step_statements, us
from ibench_lib.stats.noise import Difference
from tests.analysis.explaining import ENGINE, MAIN, pair_runs, slowed
from tests.analysis.test_explain import explained

pytestmark = pytest.mark.slow
INSERT = f"{MAIN};btr_cur_optimistic_insert(unsigned long)"
SLOWED = slowed(ENGINE, "rec_get_offsets", 2)


def test_more_cpu_and_not_more_waiting_is_told_apart() -> None:
    said = statements(explained(*pair_runs(ENGINE, SLOWED, user=(8.0, 9.43))))
    # 20,000 rows in 10 s on either side: the rate is even, and so CPU in use grew with the cost.
    assert said[0].startswith("inserts/s of B: 1.00x [1.00, 1.00] of A's, no difference found.")
    assert "server, user mode +71.5 [" in said[1]
    assert said[2].startswith("Server CPU per operation, in microseconds: +71.5 [")
    assert "no difference found" not in said[2]
    assert (
        said[2]
        .partition("]. By function, in microseconds and without what it calls: ")[2]
        .startswith("rec_get_offsets_func +71.5 [")
    )
    assert said[3].startswith("Parts of the server: record layer +71.5 [")


def test_a_change_of_all_functions_together_has_its_interval_and_may_not_be_told() -> None:
    """One function costs more, and the CPU of the runs varies too much to say so of the whole."""
    found = explained(*pair_runs(ENGINE, SLOWED, user=(8.0, 9.43)))
    assert found.server is not None and found.server.difference is not None
    assert found.server.change == pytest.approx(sum(part.change for part in found.subsystems))
    noisy = replace(found.server, difference=replace(found.server.difference, se=found.server.change))
    (said,) = [line for line in statements(replace(found, server=noisy)) if line.startswith("Server CPU")]
    assert f"microseconds: {change_text(noisy)}, no difference found. By function" in said
    assert noisy.interval is not None and noisy.interval[0] < 0 and f"[{us(noisy.interval[0])}, " in said


def rate(*logs: tuple[float, float]) -> tuple[Term, ...]:
    """Rate, use and cost with the logarithm of B / A and its standard error."""
    names = (("throughput", "rate", "/s"), ("cpus_used", "CPU in use", "CPUs"), ("cpu_us", "CPU per operation", "us"))
    return tuple(
        Term(*name, 1.0, 1.0, log, ((), ()), difference=Difference(log, se, 8))
        for name, (log, se) in zip(names, logs, strict=True)
    )


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        (rate((-0.2, 0.01), (0.0, 0.01), (0.2, 0.01)), "of A's: more CPU per operation, not more waiting."),
        (rate((0.2, 0.01), (0.0, 0.01), (-0.2, 0.01)), "of A's: less CPU per operation, not less waiting."),
        (
            rate((-0.2, 0.01), (-0.2, 0.01), (0.0, 0.01)),
            "of A's: less CPU in use; the CPU per operation does not clearly differ.",
        ),
        (rate((-0.4, 0.01), (-0.2, 0.01), (0.2, 0.01)), "0.67x [0.66, 0.69] of A's. CPU per operation 1.22x"),
        (rate((-0.2, 0.2), (-0.1, 0.2), (0.1, 0.2)), "of A's, no difference found. CPU per operation"),
    ],
)
def test_the_first_sentence_says_which_of_the_two_it_is(terms: tuple[Term, ...], said: str) -> None:
    found = explained(*pair_runs(None, None))
    object.__setattr__(found, "rate", terms)
    assert said in statements(found)[0]
    way = said.partition("of A's: ")[2]
    drawn = [text for text in step_statements(found, drawn=True) if text.startswith("inserts/s")]
    assert drawn == ([f"inserts/s of B: {way}"] if way else []), "a picture has the figures"


def test_that_no_function_differs_needs_both_tables() -> None:
    """What a function calls are many functions, each with too few samples to be judged: together they are not."""
    same = explained(*pair_runs(ENGINE, ENGINE))
    assert statements(same)[-1] == "No difference found in any function, by itself or with all that it calls."
    leaves = {f"{INSERT};helper_{n}(int)": 2 for n in range(150)}
    more = {f"{INSERT};helper_{n}(int)": 3 for n in range(150)}
    found = explained(*pair_runs({**ENGINE, **leaves}, {**ENGINE, **more}, user=(8.0, 8.0 + 10.0 * 150 / 1700)))
    assert not any(one.cost.is_clear for one in found.self_costs)
    (outer,) = [one.cost for one in found.inclusive_costs if one.cost.name == "btr_cur_optimistic_insert"]
    assert outer.is_clear
    said = statements(found)
    assert statements(same)[-1] not in said
    assert "No difference found in any function by itself." in said
    (named,) = [line for line in said if line.startswith("Functions with all that they call, in microseconds")]
    assert f"btr_cur_optimistic_insert {change_text(outer)}" in named


def test_work_that_moved_is_told_apart_from_work_of_which_that_is_not_known() -> None:
    outer, inner, *_ = ENGINE
    found = explained(*pair_runs(ENGINE, {**ENGINE, outer: 100, inner: 400}))
    (moved,) = [line for line in statements(found) if line.startswith("Cost that only moved from one function to ")]
    grown = next(one for one in found.self_costs if one.cost.name == "rec_get_offsets_func")
    assert (
        grown.around and f"rec_get_offsets_func {change_text(grown.cost)}, while {around_text(grown.around)}" in moved
    )
    unsure = [replace(one, around=one.around and replace(one.around, is_same=False)) for one in found.self_costs]
    said = statements(replace(found, self_costs=tuple(unsure)))
    assert not any("only moved from" in line for line in said)
    (untold,) = [line for line in said if line.startswith("It cannot be told whether work was added or only moved: ")]
    outer_cost = change_text(grown.around.cost)
    assert f"rec_get_offsets_func: its caller, btr_cur_optimistic_insert, changed by {outer_cost}" in untold
    assert any(line.startswith("Server CPU per operation, ") and "rec_get_offsets_func" in line for line in said)


def test_small_costs_add_up_as_shown() -> None:
    for a, b in ((0.000862, 0.002922), (0.0, 0.00292), (0.00041, 0.00043), (3.1e-7, 0.0)):
        shown = [float(us(value)) for value in (a, b, b - a)]
        assert shown[1] - shown[0] == pytest.approx(shown[2], rel=0.01)
    assert us(0.1 + 0.2 - 0.3) == "0", "what adding leaves of nothing"


def test_every_reason_is_one_line() -> None:
    found = explained(*pair_runs(ENGINE, None, rounds=1))
    assert len(cannot_say(found)) >= 3
    assert all(line.startswith("Not known: ") and line.endswith(".") and "\n" not in line for line in cannot_say(found))


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.0, "0"), (0.41234, "0.412"), (14.06, "14.1"), (1234.5, "1,234"), (-0.0004, "-0.0004")],
)
def test_microseconds(value: float | None, text: str) -> None:
    assert us(value) == text


def test_parts_whose_names_have_commas_are_separated_by_semicolons() -> None:
    parts = [
        SimpleNamespace(label=label, change=change, interval=None, is_clear=True)
        for label, change in (("server, user mode", 2.0), ("server, kernel", 1.0))
    ]
    found: Any = SimpleNamespace(rate=(), processor=(), cpu=parts)
    assert step_statements(found) == ["CPU per operation, in microseconds: server, user mode +2; server, kernel +1."]
