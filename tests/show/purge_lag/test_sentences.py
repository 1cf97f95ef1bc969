"""Sentences about purge lag and get_min."""

import polars as pl
import pytest

import ibench_lib as ib
from tests.show.parsed import Parsed
from tests.show.saying import frame_of

pytestmark = pytest.mark.lake


def test_a_purge_lag_against_none_has_no_ratio() -> None:
    frame = frame_of("history_list_length", none=[0], some=[900], much=[30_000])
    assert ib.purge_lag_statements(frame)[1:] == [
        "cached, l.i1: the history list at the end is over 1,000 and more than 10x the smallest (0 with none): "
        "much (30,000)."
    ]


def test_history_lists_are_long_or_short_among_servers_of_one_flavour() -> None:
    frame = frame_of("history_list_length", mysql=[7], worse=[2000], maria=[30_000], long=[31_000])
    flavour = pl.when(pl.col("dbms").is_in(["maria", "long"])).then(pl.lit("mariadb")).otherwise(pl.lit("mysql"))
    mixed = frame.with_columns(flavour=flavour)
    said = ib.purge_lag_statements(mixed)
    assert said[0].startswith("Flavours of servers count the history differently")
    (far,) = [text for text in said if "more than 10x the smallest" in text]
    assert far.endswith("(7 with mysql): worse (2,000).")
    table = Parsed(ib.purge_lag_table(mixed))
    assert [table.of(name) for name in ("mysql", "worse", "maria", "long")] == [
        ["7"],
        ["2,000 long"],
        ["30,000"],
        ["31,000"],
    ]
    assert any("of its column among servers of its flavour" in row[0] for row in table.rows)


def test_get_min_over_ten_times_the_best_is_named_with_what_its_runs_were() -> None:
    frame = frame_of("get_min_s", "qr", fast=[0.001], slow=[95.307], middling=[0.02])
    assert ib.get_min_statements(frame) == [
        "One run of each: the noise is unknown.",
        "cached, qr: the time of the get_min query is over 100.0 ms and more than 10x the smallest (1.0 ms with fast): "
        "slow (95.307 s).",
    ]
    frame = frame_of("get_min_s", "qr", fast=[0.001, 0.002], slow=[0.001, 4.0], always=[30.0, 31.0])
    assert ib.get_min_statements(frame) == [
        "cached, qr: the time of the get_min query is over 100.0 ms and more than 10x the smallest (1.5 ms with fast): "
        "always (median 30.500 s, 30.000 s to 31.000 s in 2 runs), slow (median 2.001 s, 1.0 ms to 4.000 s in 2 runs, "
        "over the limit in 1 of them)."
    ]
    assert ib.get_min_statements(frame_of("get_min_s", "qr", fast=[0.0], slow=[0.05]))[1:] == [
        "The time of the get_min query is never both over 10x the smallest of its step and over 100.0 ms "
        "(1 step compared)."
    ]
