"""Two dbms compared: what a difference is worth."""

from __future__ import annotations

import math

import pytest

from tests.ask.pairs import metric

pytestmark = pytest.mark.lake


@pytest.mark.parametrize(
    ("name", "a", "b", "verdict"),
    [
        ("ips", [100, 101, 102], [200, 202, 204], "better"),
        ("maxop", [100, 101, 102], [200, 202, 204], "worse"),
        ("hll", [200, 202, 204], [100, 101, 102], "better"),
        ("rps", [100, 101, 102], [200, 202, 204], "more"),
        ("cpups", [200, 202, 204], [100, 101, 102], "less"),
        ("ips", [100, 100, 100], [103, 103, 103], "same"),
        # Clear of 1, and above 1.05; then clear of 1, but between the thresholds; then not all of it between them.
        ("ips", [100, 100, 100], [105, 107, 109], "better"),
        ("ips", [100, 101, 100], [102, 103, 102], "same"),
        ("ips", [100, 102, 104], [103, 106, 110], "unclear"),
        ("ips", [100, 101, 102], [60, 120, 200], "unclear"),
        ("ips", [100], [200, 201], "noise unknown"),
        ("ips", [100, 101], [200], "noise unknown"),
        # Two runs have a range, and no verdict.
        ("ips", [100, 101], [200, 201], "too few runs"),
        ("ips", [100, 101, 102], [200, 201], "too few runs"),
        ("hll", [0, 0], [500, 600], "too few runs"),
        ("hll", [0, 0, 0], [500, 600, 550], "worse"),
        ("hll", [0, 0, 0], [0, 600, 0], "unclear"),
        ("hll", [0, 0, 0], [0, 0, 0], "same"),
        # An A that is 0 now and then makes B / A endless, not small.
        ("hll", [0, 4, 2], [1, 1, 1], "unclear"),
        ("hll", [], [1, 1], None),
        ("hll", [1, 1], [], None),
    ],
)  # fmt: skip
def test_a_verdict_needs_a_direction_and_an_interval_that_excludes_1(
    name: str, a: list[float], b: list[float], verdict: str | None
) -> None:
    assert metric(name, a, b).verdict == verdict


def test_there_is_no_ratio_of_what_tables_show_as_0() -> None:
    """0.2 and 0.4 of a metric that is printed whole are both 0 there."""
    assert metric("hll", [0.2, 0.2, 0.2], [0.4, 0.4, 0.4]).is_tiny
    assert metric("hll", [0.2, 0.2, 0.2], [0.4, 0.4, 0.4]).verdict == "unclear"
    assert not metric("hll", [0.2, 0.2, 0.2], [2, 2, 2]).is_tiny


def test_a_difference_is_as_large_as_its_ratio_unless_rounding_hides_it() -> None:
    assert metric("ips", [100, 100], [50, 50]).size == pytest.approx(metric("ips", [50, 50], [100, 100]).size)
    assert metric("hll", [0, 0], [500, 500]).size == metric("hll", [500], [0]).size == math.inf
    # 0.001 and 0.004 s: printed to a millisecond that is mostly rounding.
    assert metric("get_min_s", [0.001, 0.001], [0.004, 0.004]).size == 0
    assert metric("get_min_s", [], [4.0]).size == 0
