"""Two dbms compared: what a difference is worth."""

from __future__ import annotations

import math

import pytest

from ibench_lib.show.compare.comparison import side_text
from ibench_lib.show.kit.table_cells import factor_text
from tests.ask.pairs import metric


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


def test_a_difference_is_as_large_as_its_ratio_unless_rounding_hides_it() -> None:
    assert metric("ips", [100, 100], [50, 50]).size == pytest.approx(metric("ips", [50, 50], [100, 100]).size)
    assert metric("hll", [0, 0], [500, 500]).size == metric("hll", [500], [0]).size == math.inf
    # 0.001 and 0.004 s: printed to a millisecond that is mostly rounding.
    assert metric("get_min_s", [0.001, 0.001], [0.004, 0.004]).size == 0
    assert metric("get_min_s", [], [4.0]).size == 0


def test_ratios_are_printed_with_what_they_have_to_say() -> None:
    assert [factor_text(value) for value in (0.5, 1.0, 123.456, 0.0123, 0.0, math.inf)] == [
        "0.50", "1.00", "123", "0.012", "0.00", "inf",
    ]  # fmt: skip
    assert [factor_text(value) for value in (0.00066, 2e-6, 1234.5, 842_110.0)] == [
        "1/1,500", "<1/100,000", "1,234", ">100,000",
    ]  # fmt: skip
    # Both ends of an interval have as many digits as tell something.
    assert [factor_text(value) for value in (9.99, 9.996, 11.649, 29.94, 29.96, 65.0, 767.4)] == [
        "9.99", "10.0", "11.6", "29.9", "30", "65", "767",
    ]  # fmt: skip


@pytest.mark.parametrize(("gib", "text"), [(2**-15, "32 KiB"), (0.005, "5.12 MiB"), (0.09, "92.2 MiB"), (1.5, "1.50")])
def test_sizes_that_are_little_in_gib_have_a_unit_that_fits(gib: float, text: str) -> None:
    found = metric("dbgb1", [gib, gib], [gib, gib])
    assert side_text(found, [row | {"run_status": "complete"} for row in found.a_rows]) == text
