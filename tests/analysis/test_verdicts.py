"""The rules by which a value is called better or worse."""

import pytest

from ibench_lib.analysis.verdicts import Ratio, ratio


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (Ratio(0.94), "worse"),
        (Ratio(0.95), "same"),
        (Ratio(1.05), "same"),
        (Ratio(1.06), "better"),
        (Ratio(2.0, 1.5, 2.5, runs=2), "same"),  # a range of two runs says nothing
        (Ratio(1.2, 1.1, 1.3, runs=3, p=0.01), "better"),
        (Ratio(1.2, 0.9, 1.6, runs=3, p=0.2), "same"),
        (Ratio(1.04, 1.03, 1.05, runs=3, p=0.001), "same"),  # no chance, but too small to matter
        (Ratio(1.2, 1.1, 1.3, runs=3, p=0.01, level=0.005), "same"),  # one of many comparisons
    ],
)
def test_a_ratio_beyond_a_threshold_is_called_a_difference_unless_noise_explains_it(found: Ratio, verdict: str) -> None:
    assert found.verdict == verdict


def test_an_interval_within_the_thresholds_says_that_no_such_difference_is_there() -> None:
    assert Ratio(1.0, 0.96, 1.04, runs=3, p=0.9).is_even
    assert not Ratio(1.0, 0.9, 1.1, runs=3, p=0.9).is_even
    assert not Ratio(1.0).is_even


def test_there_is_no_ratio_to_nothing() -> None:
    assert ratio([1.0], []) is None and ratio([], [1.0]) is None and ratio([1.0], [0.0]) is None


def test_an_inverse_has_the_inverse_interval() -> None:
    found = Ratio(0.5, 0.25, 0.8, runs=3, p=0.01).inverse
    assert (found.value, found.low, found.high, found.p) == (2.0, 1.25, 4.0, 0.01)
    assert Ratio(0.5).inverse == Ratio(2.0)
