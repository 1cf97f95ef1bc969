"""Sentences on waits: what costs most, what it took to know, and where nothing is known."""

from __future__ import annotations

import pytest

import ibench_lib as ib
from tests.shared import asked
from tests.show.waited import COUNTED, MUTEX, counted, timed
from tests.synthetic import Run

pytestmark = pytest.mark.lake

SWITCHED_ON = (
    "9 performance_schema instruments were switched on for `waits`: this run is not comparable with one without"
)


def test_the_costliest_lock_of_each_dbms_the_price_and_the_gaps() -> None:
    runs = (timed("a", warnings=(SWITCHED_ON,)), counted("b", minute=1), Run("c", minute=2))
    questions = [asked(name, *runs, steps=["l.i0"]) for name in ("waits", "waits_captured")]
    top, paid, missing = ib.waits_statements(*questions)
    assert top.startswith("l.i0 in cached, the mutex or lock waited for most: "), (
        "a count does not tell what waits cost"
    )
    assert f"{MUTEX} with system.a (100.00 ms per 1,000 rows)" in top
    assert f"{COUNTED} with system.b (500.00 waits per 1,000 rows)" in top
    assert "switched on for system.a, which slows the server down" in paid and paid.loud
    assert missing.loud and "no waits of system.c were captured: the experiment did not ask for waits" in missing
