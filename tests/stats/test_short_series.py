"""Changes in short series of releases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ibench_lib.stats.short_series import SeriesChanges, drawn_in, q_values, short_changes, why_not

SERIES = 40


def simulated(
    releases: int, rounds: int, *, at: int = 0, step: float = 0.0, layout: float = 0.0
) -> list[SeriesChanges]:
    random = np.random.default_rng([releases, rounds, at])
    found = []
    for seed in range(SERIES):
        values = random.normal(0, 0.02, (releases, rounds)) + random.normal(0, layout, (releases, 1))
        values[at:] += step if at else 0
        found.append(short_changes(values, seed=seed))
    return found


def test_a_lasting_change_is_found_at_its_release_and_its_size_is_known() -> None:
    found = simulated(12, 3, at=6, step=math.log(0.9))
    levels = [[of for of in one.boundaries if of.kind == "level"] for one in found]
    exact = [of for one in levels for of in one if of.at == 6]
    assert len(exact) >= 0.95 * SERIES and sum(map(len, levels)) <= 1.05 * SERIES
    held = [low <= math.log(0.9) <= high for low, high in (of.difference.interval() for of in exact)]
    assert sum(held) >= 0.9 * len(held)


def test_chance_and_layout_are_seldom_called_a_level() -> None:
    for releases in (6, 12):
        assert sum(any(of.kind != "differs" for of in one.boundaries) for one in simulated(releases, 3)) <= 3
        found = simulated(releases, 3, layout=0.015)
        assert sum(any(of.kind != "differs" for of in one.boundaries) for one in found) <= 4
    assert sum(bool(one.boundaries) for one in simulated(6, 3)) <= 5


def test_builds_that_differ_next_to_a_lasting_change_neither_hide_nor_shorten_it() -> None:
    found = simulated(12, 5, at=6, step=math.log(0.8), layout=0.015)
    exact = [of for one in found for of in one.boundaries if of.at == 6 and of.kind == "level"]
    assert len(exact) >= 0.95 * SERIES
    others = [of for one in found for of in one.boundaries if of.at != 6]
    assert len(others) >= SERIES / 4 and {of.kind for of in others} <= {"differs", "edge"}
    assert sum((of.first, of.end) == (0, 12) for of in exact) >= 0.95 * len(exact)


def test_a_run_far_from_the_others_of_its_release_is_drawn_in_and_no_other_is() -> None:
    random = np.random.default_rng(8)
    values = random.normal(0, 0.02, (8, 5)) + random.normal(0, 0.1, (8, 1)) + random.normal(0, 0.1, (1, 5))
    far = values.copy()
    far[3, 2] += math.log(0.7)
    found = drawn_in(far)
    assert [tuple(map(int, place)) for place in np.argwhere(found != far)] == [(3, 2)]
    assert far[3, 2] < found[3, 2] < values[3, 2]
    many = far.copy()
    many[0, :] += [0.4, -0.4, 0.0, 0.4, -0.4]
    many[5, :] += [0.4, 0.0, -0.4, -0.4, 0.4]
    assert (drawn_in(many) == many).all()  # builds whose runs differ that much: no accident of a few
    even = np.log(np.repeat([[20.0], [20.0], [30.0]], 4, axis=1))
    assert (drawn_in(even) == even).all()  # neither the level of a release nor what a round shares is far
    assert (drawn_in(even + np.array([0.0, 0.5, 0.0, 0.2])) == even + np.array([0.0, 0.5, 0.0, 0.2])).all()


def test_one_release_beyond_a_change_is_an_edge() -> None:
    values = np.random.default_rng(3).normal(0, 0.01, (6, 5))
    values[5] -= 0.3
    (of,) = short_changes(values).boundaries
    assert (of.at, of.kind) == (5, "edge")


def test_small_changes_are_left_out_and_the_detectable_one_is_named() -> None:
    values = np.random.default_rng(3).normal(0, 0.0005, (6, 5))
    values[3:] -= 0.01
    assert [of.at for of in short_changes(values, min_effect=0.005).boundaries] == [3]
    assert short_changes(values).boundaries == ()
    assert math.log(1.02) < short_changes(values).detectable < 0.03


def test_neither_units_nor_what_rounds_share_nor_their_order_matter() -> None:
    values = np.random.default_rng(4).normal(0, 0.02, (8, 4))
    values[4:] -= 0.2
    first = short_changes(values).boundaries[0]
    other = short_changes(values + 3 + np.array([0.5, -0.5, 0.1, 0.0])).boundaries[0]
    assert (first.at, first.kind) == (other.at, other.kind)
    assert first.difference.value == pytest.approx(other.difference.value)
    assert first.difference.se == pytest.approx(other.difference.se)


@pytest.mark.parametrize(
    ("shape", "reason"),
    [((1, 9), "only one release"), ((2, 4), "4 complete rounds"), ((5, 2), "2 complete rounds"),
     ((31, 3), "31 releases"), ((2, 5), None), ((30, 3), None)],
)  # fmt: skip
def test_what_is_too_short_says_why(shape: tuple[int, int], reason: str | None) -> None:
    assert (why_not(*shape) or "None").find(reason or "None") >= 0
    if reason:
        with pytest.raises(ValueError, match=reason):
            short_changes(np.zeros(shape))


def test_q_values() -> None:
    assert q_values([0.01, 0.04, 0.03, 1.0]) == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 1.0])
    assert q_values([]) == []


@pytest.mark.filterwarnings("error")
def test_rounds_that_agree_to_the_last_digit_are_no_change_and_no_warning() -> None:
    assert short_changes(np.full((3, 4), math.log(20.0))).boundaries == ()
    steps = np.log(np.repeat([[20.0], [20.0], [30.0]], 4, axis=1))
    assert [of.at for of in short_changes(steps).boundaries] == [2]
