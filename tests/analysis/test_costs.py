"""Which costs are named next to a difference in throughput."""

from __future__ import annotations

import polars as pl
import pytest

from ibench_lib.analysis.against import against_base
from ibench_lib.analysis.costs import cost_ratios
from tests.show.saying import frame_of

pytestmark = pytest.mark.lake


def test_history_lists_are_compared_within_a_flavour_only() -> None:
    frame = frame_of("history_list_length", base=[10, 11, 12], other=[90_000, 90_100, 90_200])
    flavours = {"base": "mysql", "other": "mariadb"}
    assert cost_ratios(frame.with_columns(flavour=pl.col("dbms").replace(flavours)), "base") == {}
    alike = frame.with_columns(flavour=pl.lit("mysql"))
    assert len(cost_ratios(alike, "base")) == 1


def test_next_to_nothing_is_not_compared() -> None:
    frame = frame_of("history_list_length", base=[10, 11, 12], other=[900, 901, 902])
    assert cost_ratios(frame, "base") == {}
    frame = frame_of("history_list_length", base=[10, 11, 12], other=[90_000, 90_100, 90_200])
    (found,) = cost_ratios(frame, "base").values()
    assert found.is_clear


def test_writes_per_row_are_no_cost_of_queries_next_to_paced_inserts() -> None:
    frame = frame_of("wpi", base=[10, 11, 12], other=[90, 91, 92])
    assert len(cost_ratios(frame.with_columns(of_rows=True), "base")) == 1
    assert cost_ratios(frame.with_columns(of_rows=False), "base") == {}


def test_a_short_step_has_no_ratio_and_counts_for_the_noise_as_in_every_other_table() -> None:
    """Costs in sentences, next to throughput and of a pair have one interval, whatever else was run in a blink."""
    long = frame_of("cpupq", base=[100, 110, 120], other=[200, 190, 220], third=[100, 104, 120])
    blink = frame_of("cpupq", base=[100, 300, 90], other=[200, 700, 150], third=[50, 300, 900])
    blink = blink.with_columns(step=pl.lit("blink"), step_id=pl.col("step_id") + 1, duration_s=pl.lit(0.4))
    frame = pl.concat([long, blink], how="vertical_relaxed")
    every = against_base(frame, "base", ["cpupq"])
    costs = cost_ratios(frame, "base")
    assert {place[1] for place in every} == {place[1] for place in costs} | {"blink"}
    assert costs == {place: found for place, found in every.items() if place[1] != "blink"}
    place = next(iter(costs))
    assert costs[place].high != cost_ratios(long, "base")[place].high, "the noise of both steps"
