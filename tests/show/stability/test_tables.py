"""The table of rates by tenths."""

import polars as pl
import pytest

import ibench_lib as ib
from tests.shared import asked
from tests.show.parsed import Parsed
from tests.synthetic import Run

pytestmark = pytest.mark.lake


def test_tenths_say_of_which_runs_they_are() -> None:
    steps = ("l.i0", "l.x", "l.i1", "qr100")
    failed = Run("x", minute=1, status="failed", failed_step="qr100", steps=steps, l_i1_s=20)
    broken = Run("y", repeat=2, minute=3, status="interrupted", failed_step="l.i1", steps=steps[:3], l_i1_s=20)
    frame = asked("rate_by_tenth", Run(l_i1_s=20), failed, Run("y", minute=2, l_i1_s=20), broken)
    inserts = frame.filter(pl.col("step") == "l.i1")
    bound = inserts.with_columns(client_bound=pl.when(pl.col("dbms") == "system.cy10a").then(pl.lit("busy")))
    table = Parsed(ib.rate_by_tenth_table(bound))
    for head in ("system.cy10a ‡", "system.x †", "system.y (1 of 2 not complete)"):
        assert table.of(head) == ["2,500"] * 10
    assert ["† of a run that did not complete."] in table.rows
    assert ["‡ system.cy10a, l.i1: limited by the clients: busy."] in table.rows
    twice = asked("rate_by_tenth", Run(l_i1_s=20), Run(repeat=2, minute=1, l_i1_s=20)).filter(pl.col("step") == "l.i1")
    notes = Parsed(ib.rate_by_tenth_table(twice.with_columns(client_bound=pl.lit("busy")))).rows
    assert ["‡ system.cy10a, l.i1: limited by the clients: busy; the same in 1 more run."] in notes
    alone = Parsed(ib.rate_by_tenth_table(pl.concat([inserts.head(1), inserts.tail(1)])))
    assert alone.of("system.y") == ["interrupted"] * 10
