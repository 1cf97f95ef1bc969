"""Ratios of every dbms to its base, with the noise of all dbms in all steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ibench_lib.stats.noise import level_of_all
from ibench_lib.stats.ratios import Tables, difference_of, differences_of

TABLES = 30


def drawn(random: np.random.Generator, of_base: float) -> Tables:
    """Seven equal dbms in six steps, three runs each; the noise of the base is a multiple of the others' 2 %."""
    noise = random.normal(0, 0.02, (6, 7, 3)) * np.array([of_base, *[1.0] * 6])[:, None]
    return {
        str(step): {str(row): dict(enumerate(np.exp(noise[step, row]).tolist())) for row in range(7)}
        for step in range(6)
    }


@pytest.mark.parametrize("of_base", [1, 3, 5])
def test_a_noisy_base_marks_no_more_tables_and_its_intervals_hold(of_base: float) -> None:
    random = np.random.default_rng(11)
    marked, held = 0, []
    for _ in range(TABLES):
        found = [one for one in differences_of(drawn(random, of_base), lambda _: "0").values() if one]
        level = level_of_all([one.p for one in found])
        marked += any(one.p <= level and abs(one.value) > math.log(1.05) for one in found)
        held += [one.interval()[0] <= 0 <= one.interval()[1] for one in found]
    assert marked <= 4, "one of twenty, and what 30 tables vary by"
    assert np.mean(held) >= 0.93


def test_what_is_shown_of_a_table_does_not_change_its_ratios() -> None:
    tables = drawn(np.random.default_rng(2), 1)
    every = differences_of(tables, lambda _: "0")
    two = differences_of(tables, lambda name: "0" if name == "3" else name)
    assert set(two) == {(str(step), "3") for step in range(6)}
    assert all(one == every[place] for place, one in two.items())


def test_a_single_run_or_a_missing_base_has_no_difference() -> None:
    tables = {"l.i1": {"a": {1: 1.0, 2: 1.1, 3: 1.0}, "b": {1: 2.0}, "c": {}}, "qr": {"b": {1: 2.0, 2: 2.1}}}
    assert differences_of(tables, lambda _: "a") == {("l.i1", "b"): None}


def test_counts_that_happen_to_agree_are_not_without_noise_next_to_zeros() -> None:
    few, many = (difference_of([0.0, 0.0, 0.0], [of, of, of]) for of in (1.0, 1000.0))
    assert few is not None and few.p > 0.1, "three events and none"
    assert many is not None and many.p < 0.001
    random, marked = np.random.default_rng(3), 0
    for _ in range(TABLES):
        counts = random.poisson(1.2, (6, 7, 3)).astype(float)
        tables = {
            str(step): {str(row): dict(enumerate(counts[step, row].tolist())) for row in range(7)} for step in range(6)
        }
        found = [one for one in differences_of(tables, lambda _: "0").values() if one]
        marked += any(one.p <= level_of_all([of.p for of in found]) for one in found)
    assert marked <= 2


def test_one_other_configuration_does_not_tell_how_noisy_one_is() -> None:
    # In each step the two share one noise, whichever is noisier in the other steps.
    random = np.random.default_rng(5)
    noise = {"a": 0.02, "b": 0.04}
    tables = {
        str(step): {name: dict(enumerate(np.exp(random.normal(0, sd, 3)).tolist())) for name, sd in noise.items()}
        for step in range(6)
    }
    found = [one.df for one in differences_of(tables, lambda _: "a").values() if one]
    assert len(found) == 6 and found.count(4) >= 5, "one step may tell by itself"


def test_zero_counts_as_half_the_smallest_value() -> None:
    found = difference_of([0.0, 0.0, 0.0], [2.0, 2.0, 2.0])
    assert found is not None and found.value == pytest.approx(math.log(0.5))
    assert difference_of([1.0], [1.0, 2.0]) is None
