"""What chance does to intervals and marks, found by comparing configurations that are equal, and what repeats can find.

Most tables have a base and six other dbms in six steps. `benchmarks/false_marks.py` has more noises and larger numbers.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.false_marks import NOISES, Noise, Shape, kept_word, marked, table_of
from ibench_lib.analysis.verdicts import ratio
from ibench_lib.show.kit.wording import POWERED, chance_said
from ibench_lib.stats.noise import level_of_all
from tests.places import ROOT
from tests.show.saying import frame_of

pytestmark = pytest.mark.lake

PAGE = ROOT / "docs" / "benchmarks" / "false_marks.md"
TABLES = 60
GOAL, OF_ONE_STEP, HELD = 0.06, 0.09, 0.93
"""Chance may mark so many tables of equal configurations; so many of one step, unequal noise and three runs.

HELD: so many of the intervals must hold the truth.
"""

PROMISED = [noise for noise in NOISES if noise.promised]


def most(goal: float, tables: int) -> float:
    """The goal, and what so many tables vary by: two standard errors."""
    return goal + 2 * math.sqrt(goal * (1 - goal) / tables)


def least(goal: float, tables: int) -> float:
    """The same of what should be more; intervals of a table share the base, so a table counts as one."""
    return goal - 2 * math.sqrt(goal * (1 - goal) / tables)


@pytest.mark.parametrize("noise", PROMISED, ids=lambda noise: noise.name)
def test_chance_marks_at_most_one_of_twenty_tables_of_equal_configurations(noise: Noise) -> None:
    found = marked(noise, Shape(7, 3, 6), 0.0, TABLES, seed=3)
    assert found.tables <= most(GOAL, TABLES)
    assert found.comparisons <= 0.02
    assert found.held >= HELD


@pytest.mark.parametrize("dbms", [2, 7])
@pytest.mark.parametrize("name", ["2 %, base x2", "2 %, base x3", "2 %, base x5", "half of the dbms x4"])
def test_one_step_of_unequal_noise_marks_more_as_pages_say_and_less_with_five_runs(name: str, dbms: int) -> None:
    unequal = next(noise for noise in NOISES if noise.name == name)
    three, five = (marked(unequal, Shape(dbms, runs, 1), 0.0, 150, seed=3) for runs in (3, 5))
    assert three.tables <= most(OF_ONE_STEP, 150) and five.tables <= most(GOAL, 150)
    assert three.held >= least(HELD, 150) and five.held >= least(HELD, 150)


@pytest.mark.parametrize("change", [0.0, 0.1])
@pytest.mark.parametrize("name", ["2 %, base x2", "2 %, base x3", "5 %, base x5"])
def test_intervals_of_one_step_hold_next_to_a_noisy_base(name: str, change: float) -> None:
    """Pooled, the noise of all rows is known well, but that of the base is not: 90 to 92 % of them held."""
    noisy = next(noise for noise in NOISES if noise.name == name)
    assert marked(noisy, Shape(7, 3, 1), change, 800, seed=18).held >= HELD


@pytest.mark.parametrize("noise", NOISES[:3], ids=lambda noise: noise.name)
def test_what_own_runs_tell_of_equal_noise_costs_no_mark_of_one_that_differs(noise: Noise) -> None:
    shape, random = Shape(7, 3, 1), np.random.default_rng(5)
    found = pooled = 0
    for _ in range(200):
        every = [one for _, one in table_of(random, noise, shape, math.log(0.9))]
        of_pool = [replace(one, own_df=None) for one in every]
        level, by_pool = (level_of_all([one.p for one in of]) for of in (every, of_pool))
        marks = [old for one, old in zip(every, of_pool, strict=True) if one.p <= level]
        assert all(old.p <= by_pool for old in marks), "no mark is new"
        found, pooled = found + (every[0].p <= level), pooled + (of_pool[0].p <= by_pool)
    assert found >= 0.98 * pooled > 0


@pytest.mark.parametrize("dbms", [2, 7])
def test_the_change_that_would_be_found_in_four_of_five_cases_is(dbms: int) -> None:
    assert kept_word(Shape(dbms, 3, 1), 0.02, 200, seed=3) >= 0.8 - 0.06


def simulated(title: str) -> list[tuple[str, str, list[int]]]:
    """The cells of the first table of docs/benchmarks/false_marks.md after these words: noise, shape and figures."""
    text = PAGE.read_text(encoding="utf-8").partition("<!-- section false_marks")[2]
    head, _, *rows = text.partition(title)[2].strip().partition("\n\n")[0].partition("<!--")[0].strip().splitlines()
    shapes = [shape.strip() for shape in head.split("|")[2:-1]]
    cells = []
    for row in rows:
        noise, *figures = (cell.strip() for cell in row.split("|")[1:-1])
        for shape, both in zip(shapes, figures, strict=True):
            cells.append((noise, shape, [int(figure) for figure in both.split(",")]))
    return cells


def measurement() -> str:
    return " ".join((ROOT / "docs" / "measurement.md").read_text(encoding="utf-8").split())


def test_the_documents_say_how_often_such_a_change_is_found() -> None:
    """The range of the simulated table, which the words of pages, "about 80 % power", stand for."""
    by_share = sorted((share, shape) for _, shape, (share,) in simulated(f"would be found ({POWERED}):"))
    (least, rare), (most, often) = by_share[0], by_share[-1]
    assert rare.startswith("7 dbms, 1 step") and " 6 steps" in often
    said = measurement()
    assert f"the smallest detectable change ({POWERED})" in said
    assert f"found such a change in {least} to {most} % of cases: least often in a table of one step with seven" in said


def test_what_documents_and_pages_say_of_chance_is_what_simulated_tables_show() -> None:
    cells = simulated("of the 95 % intervals that hold the truth:")
    assert {noise for noise, *_ in cells} >= {noise.name for noise in PROMISED}, "one for each kind of noise"
    promised = [cell for cell in cells if "nothing is promised" not in cell[0] and ", 2 runs" not in cell[1]]

    def extremes(of: list[tuple[str, str, list[int]]]) -> tuple[int, int]:
        """The most tables with a mark, and the fewest intervals that hold the truth."""
        return max(marks for _, _, (marks, _) in of), min(held for _, _, (_, held) in of)

    unequal = [cell for cell in promised if re.search(r"\b(dbms|base)\b", cell[0])]
    equal = [cell for cell in promised if cell not in unequal]
    one_step = [cell for cell in unequal if "1 step," in cell[1]]
    of_five = extremes([cell for cell in one_step if "5 runs" in cell[1]])
    of_steps = [cell for cell in unequal if cell not in one_step]
    many_steps = extremes(of_steps)
    said = measurement()
    assert f"equally noisy, chance marked at most {extremes(equal)[0]} % of" in said
    assert f"speed wanders or drifts. {extremes(equal)[1]} % of the intervals or more held the truth." in said
    assert f"up to {many_steps[0]} % in tables of six steps, and {many_steps[1]} % of the intervals" in said
    assert "one step it was up to {} %, and {} %, because".format(*extremes(one_step)) in said
    assert "With five repeats it was {} %, and {} %.".format(*of_five) in said
    # What a page says with every table.
    most, of_all = extremes(equal)[0], extremes(promised)[0]
    assert f"at most {most} % of cases, or {of_all} % if they are not equally noisy" in chance_said(6)
    # The goals: but for one step, of which the page says more.
    assert max(extremes(equal)[0], many_steps[0], of_five[0]) <= 100 * GOAL
    assert extremes(one_step)[0] <= 100 * OF_ONE_STEP
    assert extremes(promised)[1] >= 100 * HELD


@pytest.mark.parametrize(("runs", "least"), [(2, 0.6), (3, 0.9), (5, 0.97)])
def test_a_tenth_less_is_found_in_noise_of_two_percent(runs: int, least: float) -> None:
    found = marked(NOISES[0], Shape(7, runs, 3), 0.1, TABLES, seed=runs)
    assert found.found >= least


def test_two_runs_of_two_configurations_have_a_range_and_no_mark() -> None:
    found = ratio([200.0, 210.0], [100.0, 101.0])
    assert found is not None and found.is_range and found.verdict == "same"
    assert (found.low, found.high) == (200 / 101, 210 / 100)


def test_two_runs_have_an_interval_where_others_of_the_experiment_tell_the_noise() -> None:
    from ibench_lib.analysis.against import against_base

    others = {f"other{number}": [100.0 + number, 101.0 - number] for number in range(3)}
    frame = frame_of("throughput", base=[100.0, 101.0], slow=[80.0, 81.0], **others)
    found = against_base(frame, "base", ["throughput"])["cached", "l.i1", "throughput", "slow"]
    assert not found.is_range and found.verdict == "worse" and found.comparisons == 4
    assert found.low is not None and found.high is not None and found.low < 0.8 < found.high < 0.85


@pytest.mark.parametrize("runs", [3, 5])
def test_intervals_hold_the_true_ratio_in_95_of_100_cases(runs: int) -> None:
    assert marked(NOISES[0], Shape(2, runs, 1), 0.1, 300, seed=9).held >= 0.95 - 0.03
