"""Waits inside the server per 1,000 operations, and whether they were captured."""

from __future__ import annotations

from typing import Any

import pytest

from tests.shared import asked
from tests.show.waited import COUNTED, FILE, MUTEX, RWLOCK, counted, timed
from tests.synthetic import Run


def test_only_intervals_in_the_step_count_and_operations_are_those_of_the_same_seconds() -> None:
    found = asked("waits", timed("a"), counted("b", minute=1))
    assert found["step"].unique().to_list() == ["l.i0"] and found["operations"].unique().to_list() == [88]
    rows: list[Any] = found.select("dbms", "kind", "event", "waits", "waits_per_1000", "ms_per_1000", "place").rows()
    assert rows == [
        ("system.a", "file", FILE, 88, 1000.0, pytest.approx(1000.0), 1),
        ("system.a", "mutex", MUTEX, 176, 2000.0, pytest.approx(100.0), 2),
        ("system.a", "rwlock", RWLOCK, 88, 1000.0, pytest.approx(10.0), 3),
        ("system.b", "lock", COUNTED, 44, 500.0, None, 1),
    ]
    assert found["timed"].to_list() == [True, True, True, False]


def test_what_was_not_captured_has_a_reason() -> None:
    found = asked("waits_captured", timed("a"), Run("b", minute=1), steps=["l.i0", "l.i1"])
    said = {(row["dbms"], row["step"], row["source"]): row["reason"] for row in found.to_dicts() if not row["captured"]}
    assert ("system.a", "l.i0", "performance_schema") not in said
    assert said["system.a", "l.i1", "performance_schema"].startswith("no interval of 10 s lies in the step")
    assert said["system.a", "l.i0", "innodb_mutex"] == "nothing has waited, or the server lists nothing"
    assert {reason for (dbms, _, _), reason in said.items() if dbms == "system.b"} == {
        "the experiment did not ask for waits (capture: {waits: true})"
    }
