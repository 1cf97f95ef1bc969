"""Waits inside the server per 1,000 operations, and whether they were captured."""

from __future__ import annotations

from typing import Any

import pytest

import ibench_lib as ib
from tests.shared import asked
from tests.show.parsed import Parsed
from tests.show.waited import COUNTED, FILE, MUTEX, RWLOCK, counted, interval, timed
from tests.synthetic import Run

pytestmark = pytest.mark.lake


def test_only_intervals_in_the_step_count_and_operations_are_those_of_the_same_seconds() -> None:
    found = asked("waits", timed("a"), counted("b", minute=1))
    assert found["step"].unique().to_list() == ["l.i0"] and found["operations"].unique().to_list() == [9000.0]
    assert found["unit"].unique().to_list() == ["rows"] and found["statements"].unique().to_list() == [88.0]
    rows: list[Any] = found.select("dbms", "kind", "event", "waits", "waits_per_1000", "ms_per_1000", "place").rows()
    assert rows == [
        ("system.a", "file", FILE, 9_000, 1000.0, pytest.approx(1000.0), 1),
        ("system.a", "mutex", MUTEX, 18_000, 2000.0, pytest.approx(100.0), 2),
        ("system.a", "rwlock", RWLOCK, 9_000, 1000.0, pytest.approx(10.0), 3),
        ("system.b", "lock", COUNTED, 4_500, 500.0, None, 1),
    ]
    assert found["timed"].to_list() == [True, True, True, False]


def test_what_an_interval_cuts_counts_for_the_part_that_lies_in_it() -> None:
    """4 s, from 1.4 to 5.4 s of the clock: no second at its ends is whole, and there are as many rows as in 4."""
    _, row = interval(5.4, "innodb_mutex", COUNTED, 9, None)
    (found,) = asked("waits", Run("a", also=(("waits", row),))).to_dicts()
    assert found["seconds"] == pytest.approx(4.0) and found["operations"] == pytest.approx(9000.0)
    # 2.5 s of l.i1 in which one second has no answer: what counts is what was done.
    late = {**row, "t_s": 18.0, "seconds": 2.5}
    (stalled,) = asked("waits", Run("a", stall=(2,), also=(("waits", late),))).to_dicts()
    assert stalled["step"] == "l.i1"
    assert stalled["operations"] == pytest.approx(1.5 * 50_000 / 9, rel=0.01), "only inserts, which the rate counts"


def test_a_run_without_an_event_that_other_repeats_have_counts_as_none() -> None:
    other = interval(6.0, "innodb_mutex", "log0log.cc:844", 9, None)
    more = interval(6.0, "innodb_mutex", COUNTED, 9_000, None)
    runs = [
        Run("a", also=(other, more)),
        Run("a", repeat=2, minute=1, also=(other,)),
        Run("a", repeat=3, minute=2, also=(other,)),
        Run("a", repeat=4, minute=3),  # it captured nothing: not known, and no 0
        Run("b", minute=4, also=(other,)),
    ]
    found = asked("waits", *runs).filter(event=COUNTED).select("dbms", "repeat", "waits", "waits_per_1000").rows()
    assert found == [("system.a", 1, 9_000, 1000.0), ("system.a", 2, 0, 0.0), ("system.a", 3, 0, 0.0)]
    table = Parsed(ib.waits_table(asked("waits", *runs)))
    (row,) = [row for row in table.rows if row[0] == COUNTED]
    assert row[1].startswith("0.00") and row[2] == "-", "the median of three runs; b has no such wait"


def test_what_was_not_captured_has_a_reason() -> None:
    found = asked("waits_captured", timed("a"), Run("b", minute=1), steps=["l.i0", "l.i1"])
    said = {(row["dbms"], row["step"], row["source"]): row["reason"] for row in found.to_dicts() if not row["captured"]}
    assert ("system.a", "l.i0", "performance_schema") not in said
    assert said["system.a", "l.i1", "performance_schema"].startswith("no interval of 10 s lies in the step")
    assert said["system.a", "l.i0", "innodb_mutex"] == "nothing has waited, or the server lists nothing"
    assert {reason for (dbms, _, _), reason in said.items() if dbms == "system.b"} == {
        "the experiment did not ask for waits (capture: {waits: true})"
    }
