"""What the names of configurations stand for, on a first screen."""

from __future__ import annotations

import re

import polars as pl

from ibench_lib.ask.bases import Bases
from ibench_lib.show.configurations.legend import legend, option_words

Row = tuple[str, str, str, int, str, str | None, str | None]
NAMES = ("setup", "base", "dbms", "dbms_position", "option", "base_value", "value")


def told(*rows: Row, bases: Bases) -> list[str]:
    """The texts of a legend: its summary, what is in brackets, and its lines."""
    frame = pl.DataFrame(rows, schema=list(NAMES), orient="row")
    return [
        re.sub("<[^>]+>", "", text)
        for text in re.findall(r"<(?:summary|p|li)>.*?</(?:summary|p|li)>", legend(frame, bases))
    ]


ONE = Bases(("b.base",), {"b.base": "b", "b.a13": "b", "b.a10": "b", "other.x": "other"})


def test_each_configuration_is_told_by_the_options_that_it_changes() -> None:
    rows: list[Row] = [
        ("io", "b.base", "b.a10", 2, "threads", "4", "8"),
        ("io", "b.base", "b.a13", 1, "lag", None, "100"),
        ("io", "b.base", "b.a13", 1, "threads", "4", "8"),
    ]
    assert told(*rows, bases=ONE) == [
        "What a13 and a10 change", "Options, with those of the base in brackets:",
        "a13: lag 100 (not set), threads 8 (4)", "a10: threads 8 (4)",
    ]  # fmt: skip


def test_a_setup_is_named_where_the_options_differ_by_it() -> None:
    same: list[Row] = [(setup, "b.base", "b.a13", 1, "lag", None, "100") for setup in ("cached", "io")]
    assert told(*same, bases=ONE)[2:] == ["a13: lag 100 (not set)"]
    scaled: list[Row] = [("cached", *same[0][1:]), ("io", "b.base", "b.a13", 1, "lag", None, "900")]
    assert told(*scaled, bases=ONE)[2:] == ["a13 in cached: lag 100 (not set)", "a13 in io: lag 900 (not set)"]


def test_another_build_is_not_told_by_its_options_alone() -> None:
    assert told(("io", "b.base", "other.x", 3, "lag", None, "100"), bases=ONE) == []
    chain = Bases(("b.base",), ONE.builds, ("b.base", "b.a13"))
    assert told(("io", "b.base", "b.a13", 1, "lag", None, "<1>"), bases=chain) == [
        "What a13 changes", "Options, with those of the one before it in brackets:", "a13: lag &lt;1&gt; (not set)",
    ]  # fmt: skip


def test_many_names_are_counted() -> None:
    bases = Bases(("b.base",), {"b.base": "b", **{f"b.c{number}": "b" for number in range(9)}})
    rows: list[Row] = [("io", "b.base", f"b.c{number}", number, "lag", None, "1") for number in range(9)]
    assert told(*rows, bases=bases)[0] == "What the 9 configurations change" and len(told(*rows, bases=bases)) == 11


def test_a_configuration_is_told_apart_by_the_options_that_the_fewest_change() -> None:
    def words(*rows: Row) -> dict[str, str]:
        return option_words(pl.DataFrame(rows, schema=list(NAMES), orient="row"), ONE)

    rows: list[Row] = [
        ("io", "b.base", "b.a13", 1, "lag", None, "100"),
        ("io", "b.base", "b.a13", 1, "threads", "4", "8"),
        ("io", "b.base", "b.a10", 2, "threads", "4", "8"),
        ("io", "b.base", "other.x", 3, "lag", None, "900"),
    ]
    assert words(*rows) == {"b.a13": "lag 100, threads 8", "b.a10": "threads 8"}
    others: Row = ("io", "b.base", "b.a10", 2, "lag", None, "100")
    assert words(*rows, others) == dict.fromkeys(("b.a13", "b.a10"), "lag 100, threads 8")
    scaled: Row = ("cached", "b.base", "b.a10", 2, "threads", "4", "16")
    assert words(*rows, scaled) == {"b.a13": "lag 100, threads 8"}, "setups differ"
    assert words(("io", "b.base", "b.a13", 1, "x" * 59, None, "1")) == {}, "too long"
    many: list[Row] = [("io", "b.base", "b.a13", 1, f"some_{'x' * 20}{n}", None, "1") for n in range(4)]
    short: Row = ("io", "b.base", "b.a13", 1, "some_lag", None, "100")
    assert words(*many, short) == {"b.a13": f"lag 100, {'x' * 20}0 1, {'x' * 20}1 1 and 2 more"}, "as many as fit"
    assert words(short) == {"b.a13": "some_lag 100"}, "it is no word of all if there is one only"
