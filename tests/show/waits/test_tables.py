"""The tables of waits: what costs most, per 1,000 operations, and what was captured."""

from __future__ import annotations

import pytest

import ibench_lib as ib
from tests.shared import asked
from tests.show.parsed import Parsed
from tests.show.waited import COUNTED, FILE, MUTEX, RWLOCK, counted, timed
from tests.synthetic import Run

pytestmark = pytest.mark.lake


def test_the_costliest_come_first_and_what_is_missing_is_a_dash() -> None:
    waits = asked("waits", timed("a"), timed("b", minute=1, times=2.0), counted("c", minute=2))
    table = Parsed(ib.waits_table(waits.filter(source="performance_schema")))
    assert [row for row in table.rows if len(row) == 3][-3:] == [
        [FILE, "1,000.00", "2,000.00"], [MUTEX, "100.00", "200.00"], [RWLOCK, "10.00", "20.00"],
    ]  # fmt: skip
    only = Parsed(ib.waits_table(waits.filter(source="performance_schema"), most=1))
    assert [row[0] for row in only.rows if len(row) == 3][-1] == FILE
    of_counts = Parsed(ib.waits_table(waits.filter(source="innodb_mutex")))
    assert [COUNTED, "500.00"] in of_counts.rows


def test_what_was_captured_and_why_not() -> None:
    captured = asked("waits_captured", timed("a"), Run("b", minute=1), steps=["l.i0"])
    rows = [tuple(row) for row in Parsed(ib.waits_captured_table(captured)).rows]
    assert ("system.a", "performance_schema", "in 1 of 1 step") in rows
    reason = "no; the experiment did not ask for waits (capture: {waits: true})"
    assert ("system.b", "SHOW ENGINE INNODB MUTEX", reason) in rows
