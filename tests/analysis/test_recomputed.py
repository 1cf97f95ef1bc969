"""Why a published figure differs from what the data give: a reason holds only as long as the data prove it."""

from dataclasses import replace

import polars as pl
import pytest

from ibench_lib.analysis.recomputed import (
    Explained,
    Figure,
    decimals_of,
    explained,
    explained_rows,
    is_printed_as,
    unit_of,
)

WHOLE = Figure("qps", 16_000.0, 1_000_000 / 61.3, amount=1_000_000, duration_s=61.3, clients=1)
"""1,000,000 queries in 61.3 s."""


@pytest.mark.parametrize(
    ("value", "unit", "decimals"),
    [
        (16_605.8, 0.1, 1),
        (12_664.0, 1.0, 0),
        (7_500.0, 100.0, 0),
        (100.0, 1.0, 0),
        (0.25, 0.01, 2),
        (20_000.0, 100.0, 0),
    ],
)
def test_the_unit_of_a_figure_is_that_of_its_last_digit(value: float, unit: float, decimals: int) -> None:
    assert unit_of(value) == pytest.approx(unit) and decimals_of(value) == decimals


def test_a_figure_may_be_rounded_or_cut_off() -> None:
    assert is_printed_as(12_663.75, 12_664.0) and is_printed_as(12_664.99, 12_664.0)
    assert not is_printed_as(12_663.4, 12_664.0) and not is_printed_as(12_665.0, 12_664.0)
    assert is_printed_as(7451.0, 7500.0) and not is_printed_as(7599.0, 7500.0), "nobody cuts off tens"
    assert is_printed_as(0.0, 0.0)


def test_a_figure_is_equal_or_has_nothing_to_be_compared_with() -> None:
    assert explained(Figure("qps", 12_664.0, 12_663.75)).status == "equal"
    assert explained(Figure("qps", 12_664.0)).status == "alone"
    assert explained(Figure("qps", 12_664.0, 14_000.0)).status == "unexplained"


def kind(figure: Figure) -> str:
    return explained(figure).kind


def test_whole_seconds_are_named_if_they_give_the_figure() -> None:
    figure = replace(WHOLE, published=round(1_000_000 / 64, 1))
    assert explained(figure).reason == "whole seconds: divided by 64 s, not 61.30 s"
    assert kind(replace(figure, amount=1_000_100)) == "", "another amount does not give it"
    assert kind(replace(figure, published=round(1_000_000 / 64.5, 1))) == ""
    assert kind(replace(figure, published=round(1_000_000 / 90, 1))) == "", "no clock of a script is so far off"
    assert kind(replace(figure, published=round(1_000_000 / 90, 1), clients=20)) == "whole seconds", "each is forked"
    assert kind(replace(figure, published=round(1_000_000 / 55, 1))) == "", "less than the clients took"
    few = Figure("qps", 3.3, 100 / 26.0, amount=100, duration_s=26.0, clients=1)
    assert kind(few) == "", "nearly any figure with so few digits is that of some whole seconds"


def test_a_stale_tail_is_named_if_the_lines_give_the_figure() -> None:
    figure = replace(WHOLE, published=round(999_000 / 61.3, 1), lines_amount=999_000, lines=61)
    assert explained(figure).reason == "stale tail: 999,000 of 1,000,000 in its lines"
    assert kind(replace(figure, lines_amount=998_000)) == "" and kind(replace(figure, lines_amount=1_000_000)) == ""
    in_whole = replace(figure, published=round(999_000 / 63, 1))
    assert explained(in_whole).reason == "stale tail: 999,000 of 1,000,000 in its lines, divided by 63 whole seconds"


def test_long_ticks_are_named_if_lines_counted_as_seconds_give_the_figure() -> None:
    figure = replace(WHOLE, published=round(1_000_000 / 57, 1), lines=57)
    assert explained(figure).reason == "ticks longer than a second: 57 lines in 61.30 s"
    assert kind(replace(figure, lines=58)) == "" and kind(replace(figure, lines=None)) == ""


def test_the_first_client_is_named_if_it_gives_the_figure() -> None:
    figure = Figure("qps", 8_123.4, 16_300.0, clients=2, first_rate=8_123.41)
    assert explained(figure).reason == "client 1 only, of 2"
    assert kind(replace(figure, clients=1)) == kind(replace(figure, first_rate=8_124.0)) == ""


def test_header_lines_are_named_if_as_many_zeros_give_the_figure() -> None:
    figure = Figure("cpups", 81.2, 85.05, host_samples=334)
    assert explained(figure).reason == "header lines averaged as zeros: 16 next to 334 samples"
    assert kind(replace(figure, host_samples=10)) == kind(replace(figure, published=84.0)) == ""
    assert kind(replace(figure, host_samples=None)) == ""
    assert kind(replace(figure, metric="qps")) == "", "only means of samples have headers"


def test_the_end_of_a_step_is_named_if_its_mean_is_the_figure() -> None:
    figure = Figure("qps", 7_487.3, 7_954.6, windows=[(600, 7_400.0), (1000, 7_487.31)])
    assert explained(figure) == Explained("explained", "last part of the step", "mean of the last 1,000 s")
    assert kind(replace(figure, windows=[(600, 7_400.0), (1000, 7_488.0)])) == ""
    assert kind(replace(figure, published=7_500.0)) == "last part of the step", "as it was rounded"


def test_a_scan_is_named_if_its_rows_and_response_give_the_figure() -> None:
    figure = Figure("qps", 4_501.0, 0.09, scan_rows=50_000_000, latency_avg_ms=11_108.39)
    assert kind(figure) == "another unit"
    assert kind(replace(figure, latency_avg_ms=11_200.0)) == kind(replace(figure, scan_rows=None)) == ""


def test_what_a_tool_prints_is_named_with_the_time_that_it_divides_by() -> None:
    figure = Figure("throughput", 13_477.0, 13_894.1, amount=834_579, duration_s=60.067, tool_rate=13_477.0)
    assert explained(figure).reason == "as its tool prints it: divided by 61.93 s, not 60.07 s"
    assert kind(replace(figure, tool_rate=13_500.0)) == kind(replace(figure, tool_rate=None)) == ""


def test_what_is_within_two_units_has_no_reason() -> None:
    """There anything may give it."""
    figure = Figure("qps", 100.1, 100.25, amount=6_018, duration_s=60.0, clients=1, lines_amount=6_006.0)
    assert explained(figure).status == "unexplained"


def test_means_of_different_parts_of_a_step_are_mixed() -> None:
    shared = {"setup": "BP140", "step": "run", "metric": "qps"}
    whole = {**shared, "dbms": "b", "published": 4_910.3, "recomputed": 4_910.31, "windows": None}
    end = {**shared, "dbms": "a", "published": 7_487.3, "recomputed": 7_954.6,
           "windows": [{"last_s": 1000, "rate": 7_487.3}]}  # fmt: skip
    rows = explained_rows(pl.DataFrame([whole, end]))
    assert [one.kind for one in rows] == ["", "mixed windows"]
    assert rows[1].reason == "mixed windows: mean of the last 1,000 s; others are of another part"
    alone = explained_rows(pl.DataFrame([end]))
    assert [one.kind for one in alone] == ["last part of the step"]
    assert explained_rows(pl.DataFrame([{**whole, "step": "other"}, end]))[1].kind == "last part of the step"
