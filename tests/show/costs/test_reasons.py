"""Which costs are named as a reason for a rate."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from ibench_lib.analysis.costs import telling_costs
from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.ask.bases import bases
from ibench_lib.show.costs.reasons import reasons, reasons_said
from tests.show.parsed import Parsed
from tests.show.saying import frame_of

pytestmark = pytest.mark.lake


def clear(value: float) -> Ratio:
    return Ratio(value, 0.9 * value, 1.1 * value, 3, p=0.0001)


def hidden(value: float) -> Ratio:
    return Ratio(value, 0.2 * value, 5 * value, 3, p=0.5)


def said(rates: dict[str, float], costs: dict[tuple[str, str], Ratio], not_known: tuple[str, ...] = ()) -> str:
    places = {("cached", "l.i1", column, name): found for (column, name), found in costs.items()}
    return reasons_said("cached", "l.i1", {name: clear(rate) for name, rate in rates.items()}, places, not_known)


def test_costs_that_are_higher_where_the_rate_is_lower_are_named_largest_first() -> None:
    costs = {("cpupq", "a"): clear(1.8), ("rkbpq", "a"): clear(4.0), ("cspq", "a"): clear(1.2)}
    assert said({"a": 0.5}, costs) == "KB read/op 4.00x and CPU/op 1.80x"


def test_what_noise_hides_or_goes_the_same_way_is_not_named() -> None:
    assert said({"a": 0.5}, {("cpupq", "a"): hidden(1.8), ("rpq", "a"): clear(0.3)}) == ""
    assert said({"a": 2.0}, {("rpq", "a"): clear(0.3)}) == "reads/op 0.30x"
    assert said({"a": 2.0}, {("rpq", "a"): Ratio(0.3)}) == "", "one run"


def test_of_several_results_the_range_and_how_many_have_it() -> None:
    costs = {("cpupq", "a"): clear(1.8), ("cpupq", "b"): clear(2.5), ("wkbpi", "b"): clear(9.0)}
    assert said({"a": 0.5, "b": 0.4}, costs) == "CPU/op 1.80x to 2.50x and KB written/row 9.00x in 1 of 2"


def test_a_cost_is_no_reason_where_less_of_the_resource_is_used() -> None:
    """A server that waits for something else does less, and what it does anyway is divided by fewer operations."""
    assert said({"a": 0.67}, {("cpupq", "a"): clear(1.31)}) == "", "12 % less CPU in use"
    assert said({"a": 0.67}, {("cpupq", "a"): clear(1.5)}) == "CPU/op 1.50x", "as much CPU as before"
    assert said({"a": 1.5}, {("rpq", "a"): clear(0.8)}) == "", "20 % more reads in a second"
    assert said({"a": 1.5}, {("rpq", "a"): clear(0.6)}) == "reads/op 0.60x"


def test_requests_and_their_bytes_are_named_once() -> None:
    costs = {("rpq", "a"): clear(3.0), ("rkbpq", "a"): clear(4.0), ("wpi", "a"): clear(2.0), ("wkbpi", "a"): clear(2.1)}
    assert said({"a": 0.5}, costs) == "KB read/op 4.00x and KB written/row 2.10x"


def test_costs_of_the_whole_host_are_not_named_where_others_used_it() -> None:
    costs = {("cpupq", "a"): clear(1.8), ("rpq", "a"): clear(3.0)}
    assert said({"a": 0.5}, costs, ("a",)) == "reads/op 3.00x"


def test_the_table_has_the_cost_that_the_sentence_names() -> None:
    """Counts differ more, bytes in as many results: both choose the counts."""
    costs = {("wpi", "a"): clear(13.0), ("wkbpi", "a"): clear(2.8)}
    assert said({"a": 0.5}, costs) == "writes/row 13.0x"
    assert telling_costs("s", [("l.i1", "a")], {("s", "l.i1", *place): one for place, one in costs.items()}) == ["wpi"]


def test_a_history_list_is_named_with_how_many_times_shorter_or_longer_it_is() -> None:
    assert said({"a": 2.0}, {("history_list_length", "a"): clear(0.01)}) == "a history list 100x shorter"
    assert said({"a": 0.5}, {("history_list_length", "a"): clear(12.0)}) == "a history list 12.0x longer"


def test_the_marks_of_the_table_are_explained_by_what_is_better() -> None:
    """A cost of 0.50x is marked as a rate above 1.05 is: the note must not say that the mark means above 1.05."""
    costs = frame_of("cpupq", base=[100, 101, 99], other=[50, 51, 49])
    rates = frame_of("throughput", base=[100, 101, 99], other=[200, 202, 198])
    frame = costs.with_columns(rates["throughput"], flavour=pl.lit("mysql"))
    post: Any = SimpleNamespace(ask=lambda question: frame, bases=bases("base"), palette="default")
    (table,) = reasons(post).items
    notes = " ".join(row[0] for row in Parsed(table).rows if row)
    assert "better, worse: above 1.05 or below 0.95, and not by chance." in notes
