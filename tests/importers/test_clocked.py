"""The clock of a file: real seconds between lines, over midnight, and none that nobody knows."""

from __future__ import annotations

import pytest

from ibench_lib.importers.clocked import Clock, second_of_day


@pytest.mark.parametrize(
    ("text", "half", "second"),
    [
        ("15:11:22", "", 54_682.0), ("03:11:22", "PM", 54_682.0), ("12:00:01", "AM", 1.0), ("12:00:01", "PM", 43_201.0),
        ("00:00:00", "", 0.0), ("24:00:00", "", None), ("13:00:00", "PM", None), ("15:61:22", "", None),
        ("all", "", None),
    ],
)  # fmt: skip
def test_a_time_of_day_in_both_forms(text: str, half: str, second: float | None) -> None:
    assert second_of_day(text, half) == second


def test_seconds_are_those_between_two_clocks_over_midnight_too() -> None:
    clock = Clock()
    assert [clock.passed(at) for at in (86_398.0, 86_399.0, 1.0, 11.5)] == [None, 1.0, 2.0, 10.5]


def test_a_clock_that_goes_back_or_on_after_a_long_pause_is_that_of_another_file() -> None:
    clock = Clock()
    assert [clock.passed(at) for at in (100.0, 99.0, 5_000.0, 101.0)] == [None, None, None, 1.0]


def test_nobody_knows_how_long_the_sample_after_a_lost_line_is() -> None:
    clock = Clock()
    clock.passed(100.0)
    clock.lose()
    assert [clock.passed(102.0), clock.passed(103.0)] == [None, 1.0]
