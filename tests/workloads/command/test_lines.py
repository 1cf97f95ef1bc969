"""What a line says of an interval, by a pattern or by columns."""

from __future__ import annotations

from typing import Any

import pytest

from ibench_lib.client.intervals import Reading, Unreadable
from ibench_lib.workloads.command.lines import LineReader, Pattern
from ibench_lib.workloads.command.options import Lines

SYSBENCH = r"\[ (?P<time>\d+)s \] .*tps: (?P<rate>[\d.]+) "


def reader(**described: Any) -> LineReader:
    return LineReader(Lines.model_validate(described).model_dump())


def test_a_pattern_is_found_anywhere_in_a_line() -> None:
    line = "[ 7s ] thds: 2 tps: 838.01 qps: 23740.34 (r/w/o: 10846.15/11218.16/1676.02) lat (ms,95%): 6.91 err/s: 5.00"
    assert reader(pattern=SYSBENCH).read(line) == Reading(rate=838.01, end_s=7.0)


def test_columns_are_apart_by_white_space_or_a_separator() -> None:
    columns = {"time": 1, "count": 3, "latency": 4, "max": 5, "errors": 6}
    expected = Reading(count=10, end_s=1.0, mean_us=1500, max_us=2000, errors=0)
    assert reader(columns=columns, latency_in="ms").read("1.0  x\t10 1.5 2  0") == expected
    assert reader(columns=columns, latency_in="ms", separator=",").read("1,,10, 1.5,2,0") == expected


@pytest.mark.parametrize("line", ["", "one", "1 two", "1", "1 0x10", "1 1_000", "1 \u0661", "a banner of a program"])
def test_what_is_no_line_of_an_interval_cannot_be_read(line: str) -> None:
    assert reader(columns={"time": 1, "count": 2}).read(line) is None


def test_a_number_that_cannot_be_is_left_to_the_one_who_counts() -> None:
    assert reader(columns={"count": 1}).read("-3") == Reading(count=-3)
    assert str(reader(columns={"rate": 1}).read("NaN")) == str(Reading(rate=float("nan")))


def test_lines_to_ignore_say_nothing_and_are_no_failure() -> None:
    reads = reader(columns={"count": 1}, ignore="^(#|time)")
    assert reads.read("# a comment") == () == reads.read("time count") and reads.read("other") is None


def test_a_total_counts_by_what_it_has_grown() -> None:
    reads = reader(columns={"total": 1})
    assert [reads.read(line) for line in ("5", "5", "12")] == [Reading(count=n) for n in (5, 0, 7)]
    with pytest.raises(Unreadable, match=r"^its total falls from 12 to 3$"):
        reads.read("3")


def test_a_group_that_matches_nothing_says_nothing() -> None:
    reads = reader(pattern=r"^(?P<count>\d+)(?: (?P<errors>\d+) errors)?")
    assert reads.read("5") == Reading(count=5) and reads.read("5 2 errors") == Reading(count=5, errors=2)
    assert reader(pattern=r"ops(?P<count>\d+)?").read("ops") is None


@pytest.mark.parametrize("pattern", [r"^(a+)+$", r"(x+x+)+y", r"^(?P<count>(\d|\d\d)+)!"])
def test_a_pattern_that_takes_for_ever_is_stopped_and_named(pattern: str) -> None:
    line = {"^": "a" * 60, "(": "x" * 60}[pattern[0]] if "count" not in pattern else "1" * 60
    with pytest.raises(Unreadable, match=r"^the pattern takes more than 0\.2 s of CPU for it: make it simpler$"):
        Pattern(pattern).search(line + " ")
    assert Pattern("fine").search("it is fine"), "the next one has its own time"
