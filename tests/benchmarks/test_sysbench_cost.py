"""What the wrapper of sysbench costs: the benchmark's arithmetic."""

import pytest

from benchmarks import sysbench_cost
from benchmarks.sysbench_cost import BUSY, NULL, TESTS, Figures, in_turn


def test_the_wrapper_is_charged_for_its_reader_and_ratios_are_taken_within_a_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sysbench_cost, "identity", lambda: {"version": "sysbench 1.0.20"})
    null = [(Figures(400, 10.0, cpu, 0.02), Figures(400, 10.0, 0.1)) for cpu in (0.11, 0.10, 0.13)]
    busy = [(Figures(rate, 1.0, 2.0), Figures(1000, 1.0, 2.0)) for rate in (996, 998, 999)]
    points = [(Figures(rate, 1.0, 1.0), Figures(1000, 1.0, 1.0)) for rate in (990, 1000, 1010)]
    writes = [(Figures(50, 1.0, 1.0), Figures(50, 1.0, 1.0))] * 3
    # 1,000 events of 250 us in a second on each side: an event has 500 us of the one CPU; 5 us more are 1 % of that.
    dearer = [(Figures(1000, 1.0, cpu, 0.005), Figures(1000, 1.0, 0.25)) for cpu in (0.249, 0.250, 0.251)]
    even = [(Figures(1000, 1.0, 0.25), Figures(1000, 1.0, 0.25))] * 3
    text = sysbench_cost.report(
        {NULL: null, BUSY: busy, TESTS[0]: points, TESTS[1]: writes},
        {TESTS[0]: (dearer, even), TESTS[1]: (even, even)},
        "mariadb 10.11",
        10.0,
    )
    assert "| 1.30 (1.20 to 1.50) | 1.00 (1.00 to 1.00) | +0.30 (+0.20 to +0.50) | <= 0.5 |" in text
    # t of two degrees of freedom is 4.303, and the deviation of 0.99, 1 and 1.01 is 0.01.
    assert "| 0.998 [0.994, 1.001] | 1 |" in text
    assert "| 1.000 [0.975, 1.025] | 1 |" in text
    assert f"| {TESTS[0]}: CPU of an event (us) | 255.00 (254.00 to 256.00) | 250.00 (250.00 to 250.00) |" in text
    assert "| +1.00 [+0.50, +1.50] % | <= 1 |" in text
    assert text.count("| +0.00 [+0.00, +0.00] % | 0 |") == 2
    assert text.splitlines()[-1].startswith(f"| {TESTS[1]} over {TESTS[0]} | 0.050 (0.050 to 0.051) |")


def test_pairs_alternate_and_come_back_in_the_order_of_their_sides() -> None:
    ours, plain = Figures(1, 1.0, 1.0), Figures(2, 1.0, 1.0)
    ran: list[str] = []

    def by_wrapper(test: str) -> Figures:
        ran.append("ours")
        return ours

    def alone(test: str) -> Figures:
        ran.append("plain")
        return plain

    pairs = [in_turn(number, "t", (by_wrapper, alone), map) for number in range(2)]
    assert pairs == [(ours, plain)] * 2
    assert ran == ["ours", "plain", "plain", "ours"]
