"""What chance does to intervals and marks, found by comparing configurations that are equal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ibench_lib.show.verdicts import Ratio, coverage_pct, ratio

PAIRS = 400
NOISE = 0.05


def equal_pairs(runs: int, noise: float = NOISE) -> Iterator[Ratio]:
    """Ratios of two configurations with so many runs each, between which there is no difference."""
    random = np.random.default_rng(runs)
    for _ in range(PAIRS):
        values, base = (list(random.normal(1, noise, runs)) for _ in range(2))
        found = ratio(values, base)
        assert found is not None
        yield found


@pytest.mark.parametrize("runs", [2, 3, 4, 5, 7])
def test_intervals_hold_the_true_ratio_as_often_as_posts_say(runs: int) -> None:
    held = sum((found.low or 0) <= 1 <= (found.high or 0) for found in equal_pairs(runs))
    assert 100 * held / PAIRS == pytest.approx(coverage_pct(runs), abs=5)


@pytest.mark.parametrize("noise", [0.05, 0.1, 0.3])
def test_two_runs_never_mark_a_difference(noise: float) -> None:
    assert {found.verdict for found in equal_pairs(2, noise)} == {"same"}
    found = ratio([200.0, 210.0], [100.0, 101.0])
    assert found is not None and found.is_range and found.verdict == "same"
    assert (found.low, found.high) == (200 / 101, 210 / 100)


@pytest.mark.slow
def test_three_runs_mark_few_equal_configurations() -> None:
    marked = sum(found.verdict != "same" for found in equal_pairs(3, 0.1))
    assert marked / PAIRS <= 0.06
    apart = sum(not (found.low or 0) <= 1 <= (found.high or 0) for found in equal_pairs(3))
    assert apart / PAIRS <= 0.1 + 0.04, "up to one of ten"
