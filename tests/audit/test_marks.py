"""What chance does to intervals and marks, found by comparing configurations that are equal, and what repeats can find.

Most tables have a base and six other dbms in six steps. `benchmarks/false_marks.py` has more noises and larger numbers.
"""

from __future__ import annotations

import pytest

from benchmarks.false_marks import NOISES, Noise, Shape, kept_word, marked
from ibench_lib.analysis.verdicts import ratio
from ibench_lib.show.kit.wording import UNEQUAL
from tests.show.saying import frame_of

TABLES = 60


PROMISED = [noise for noise in NOISES if noise.promised]


@pytest.mark.parametrize("noise", PROMISED, ids=lambda noise: noise.name)
def test_chance_marks_at_most_one_of_twenty_tables_of_equal_configurations(noise: Noise) -> None:
    found = marked(noise, Shape(7, 3, 6), 0.0, TABLES, seed=3)
    assert found.tables <= 0.05 + 0.06, "0.05, and what 60 tables vary by"
    assert found.comparisons <= 0.02
    assert found.held >= 0.93


def test_a_noisy_base_of_one_step_marks_more_which_is_said() -> None:
    noisy = next(noise for noise in NOISES if noise.name == "2 %, base x5")
    assert marked(noisy, Shape(7, 3, 1), 0.0, 200, seed=3).tables <= UNEQUAL + 0.02


@pytest.mark.parametrize("dbms", [2, 7])
def test_the_change_that_would_be_found_in_four_of_five_cases_is(dbms: int) -> None:
    assert kept_word(Shape(dbms, 3, 1), 0.02, 200, seed=3) >= 0.8 - 0.06


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
