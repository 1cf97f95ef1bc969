"""Changes in long series of nights."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from ibench_lib.stats.long_series import clipped, long_changes

NIGHTS, SERIES = 120, 20
STEP = math.log(0.9)


def remembering(random: np.random.Generator, phi: float = 0.6, sd: float = 0.02) -> NDArray[np.float64]:
    host = np.zeros(NIGHTS)
    for night in range(1, NIGHTS):
        host[night] = phi * host[night - 1] + random.normal(0, sd)
    return host


def test_a_step_is_found_within_three_nights_and_chance_is_not() -> None:
    random = np.random.default_rng(1)
    near, false = 0, 0
    for _ in range(SERIES):
        values = random.normal(0, 0.02, NIGHTS)
        false += bool(long_changes(values).steps)
        values[70:] += STEP
        steps = long_changes(values).steps
        near += any(abs(step.at - 70) <= 3 for step in steps)
        false += len(steps) > 1
    assert near >= 0.9 * SERIES and false <= 2


@pytest.mark.long
def test_a_reference_takes_away_what_the_host_does() -> None:
    random = np.random.default_rng(2)
    near, false = 0, 0
    for _ in range(SERIES):
        host = remembering(random)
        values, reference = (host + random.normal(0, 0.01, NIGHTS) for _ in range(2))
        false += bool(long_changes(values, reference).steps)
        values[60:] += STEP
        found = long_changes(values, reference)
        near += any(abs(step.at - 60) <= 3 for step in found.steps)
    assert near >= 0.9 * SERIES and false <= 1


def test_without_a_reference_nothing_is_said_of_nights_that_depend_on_each_other() -> None:
    random = np.random.default_rng(3)
    found = [long_changes(remembering(random, 0.8)) for _ in range(10)]
    assert sum(one.judged == "nothing" and not one.steps for one in found) >= 9
    assert "no reference" in found[0].why


def test_a_drift_is_no_step_and_a_step_of_the_host_is_none_of_the_build() -> None:
    random = np.random.default_rng(4)
    line = np.linspace(0, math.log(0.9), NIGHTS)
    drifting = [long_changes(line + random.normal(0, 0.01, NIGHTS)) for _ in range(5)]
    assert all(not one.steps for one in drifting) and any(one.drift or one.judged == "nothing" for one in drifting)
    host = np.where(np.arange(NIGHTS) < 50, 0.0, STEP)
    values, reference = (host + random.normal(0, 0.01, NIGHTS) for _ in range(2))
    found = long_changes(values, reference)
    assert found.judged == "ratio" and not found.steps


def test_one_night_is_clipped_and_an_alarm_only_if_it_is_the_last() -> None:
    values = np.random.default_rng(5).normal(0, 0.01, NIGHTS)
    spiked = values.copy()
    spiked[40] -= 0.5
    assert abs(clipped(spiked)[40]) < 0.05 and not long_changes(spiked).steps
    assert not long_changes(spiked).low_alarm
    values[-1] -= 0.2
    found = long_changes(values)
    assert found.low_alarm and not found.high_alarm and not found.steps


def test_what_is_too_short_or_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="29 nights"):
        long_changes(np.zeros(29))
    with pytest.raises(ValueError, match="other nights"):
        long_changes(np.zeros(40), np.zeros(41))
