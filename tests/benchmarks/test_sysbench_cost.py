"""What the wrapper of sysbench costs: the benchmark's arithmetic."""

import pytest

from benchmarks import sysbench_cost
from benchmarks.sysbench_cost import BUSY, NULL, TESTS, Figures


def test_the_wrapper_is_charged_for_its_reader_and_ratios_are_taken_within_a_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sysbench_cost, "identity", lambda: {"version": "sysbench 1.0.20"})
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    null = [(Figures(400, 10.0, cpu, 0.02), Figures(400, 10.0, 0.1)) for cpu in (0.11, 0.10, 0.13)]
    busy = [(Figures(rate, 1.0, 2.0), Figures(1000, 1.0, 2.0)) for rate in (996, 998, 999)]
    points = [(Figures(rate, 1.0, 1.0), Figures(1000, 1.0, 1.0)) for rate in (990, 1000, 1010)]
    writes = [(Figures(50, 1.0, 1.0), Figures(50, 1.0, 1.0))] * 3
    text = sysbench_cost.report({NULL: null, BUSY: busy, TESTS[0]: points, TESTS[1]: writes}, "mariadb 10.11", 10.0)
    assert "| 1.30 (1.20 to 1.50) | 1.00 (1.00 to 1.00) | +0.30 (+0.20 to +0.50) | <= 0.5 |" in text
    # t of two degrees of freedom is 4.303, and the deviation of 0.99, 1 and 1.01 is 0.01.
    assert "| 0.998 [0.994, 1.001] | >= 0.99 |" in text
    assert "| 1.000 [0.975, 1.025] | >= 0.99 |" in text
    # An event of 1 ms takes half of two CPUs: 1/990 and 1/1010 s are 0.51 % of them more, and 0.50 % less.
    assert f"| {TESTS[0]}: CPU of an event (us) | 1000.00 (990.10 to 1010.10) |" in text
    assert "| +0.00 [-1.24, +1.25] % of all CPUs | <= 1 |" in text
    assert text.splitlines()[-1].startswith(f"| {TESTS[1]} over {TESTS[0]} | 0.050 (0.050 to 0.051) |")
