"""The chart of the top mutexes and locks."""

from __future__ import annotations

import pytest

import ibench_lib as ib
from tests.shared import asked
from tests.show.waited import COUNTED, counted, timed

pytestmark = pytest.mark.lake


def test_bars_of_each_dbms_by_lock_without_files() -> None:
    waits = asked("waits", timed("a"), timed("b", minute=1, times=2.0), counted("c", minute=2))
    chart = ib.waits_chart(waits.filter(source="performance_schema"))
    bars = [(bar.name, list(bar.y), list(bar.x)) for bar in chart.data]
    assert bars == [
        ("system.a", ["mutex/innodb/buf_pool_mutex", "rwlock/innodb/x"], [100.0, 10.0]),
        ("system.b", ["mutex/innodb/buf_pool_mutex", "rwlock/innodb/x"], [200.0, 20.0]),
    ]
    assert chart.layout.xaxis.title.text == "ms per 1,000 rows"
    counts = ib.waits_chart(waits.filter(source="innodb_mutex"))
    assert [(bar.name, list(bar.y), list(bar.x)) for bar in counts.data] == [("system.c", [COUNTED], [500.0])]
    assert counts.layout.xaxis.title.text == "waits per 1,000 rows"
