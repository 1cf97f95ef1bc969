"""How numbers are printed in the cells of tables."""

from __future__ import annotations

import math

from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.show.kit.table_cells import factor_text, point_text


def test_ratios_are_printed_with_what_they_have_to_say() -> None:
    assert [factor_text(value) for value in (0.5, 1.0, 123.456, 0.0123, 0.0, math.inf)] == [
        "0.50", "1.00", "123", "1/81.3", "0.00", "inf",
    ]  # fmt: skip
    assert [factor_text(value) for value in (0.00066, 2e-6, 1234.5, 842_110.0)] == [
        "1/1520", "<1/100000", "1234", ">100000",
    ]  # fmt: skip
    assert [factor_text(value) for value in (0.0949, 0.0951, 0.0083)] == ["1/10.5", "0.10", "1/120"]
    # Both ends of an interval have as many digits as tell something.
    assert [factor_text(value) for value in (9.99, 9.996, 11.649, 29.94, 29.96, 65.0, 767.4)] == [
        "9.99", "10.0", "11.6", "29.9", "30", "65", "767",
    ]  # fmt: skip


def test_a_clear_ratio_never_reads_as_the_threshold_that_it_is_beyond() -> None:
    def said(value: float, p: float = 0.001) -> str:
        return point_text(Ratio(value, 0.9 * value, 1.1 * value, 3, p))

    assert [said(value) for value in (0.9487, 0.94996, 0.9449, 1.0512, 1.06, 0.008)] == [
        "0.949", "0.94996", "0.94", "1.051", "1.06", "1/125"
    ]  # fmt: skip
    assert [said(0.9487, p=0.5), said(1.0512, p=0.5), said(0.95), said(1.05)] == ["0.95", "1.05", "0.95", "1.05"]
