"""The table of dips: when, how deep, why, and how sure that is."""

from __future__ import annotations

import pytest

import ibench_lib as ib
from ibench_lib.show.step_detail.detail import StepDetail
from tests.shared import asked
from tests.show.step_detail.test_tables import text_rows
from tests.store.test_dips import CASES, grown, sampled
from tests.synthetic import Run

pytestmark = pytest.mark.lake

NAME = "system.slow"


@pytest.mark.slow
def test_a_row_names_the_cause_and_what_shows_it() -> None:
    dips = asked("dips", CASES["free_pages"][0], steps=["l.i1"])
    table = text_rows(ib.dips_table(dips).html())
    shows = "threads waited for a free page; at most 1 % of the buffer pool was free"
    assert table == {NAME: ["9 to 11 (3 s)", "0", "0", "free pages (high)", shows]}


def test_a_dip_below_half_of_the_median_has_its_worst_response(detail: StepDetail) -> None:
    rows = text_rows(ib.dips_table(detail.dips, stalls=detail.stalls).html())
    assert {name: row[:4] for name, row in rows.items()} == {
        "system.slow": ["4 to 5 (2 s)", "0", "0", "2,100.0"],
        "system.x (failed)": ["7", "0", "0", "2,100.0"],
    }
    (slow, _) = text_rows(ib.dips_table(detail.dips, stalls=detail.stalls.clear()).html()).values()
    assert slow[3] == "-"


@pytest.mark.long
@pytest.mark.slow
def test_an_unexplained_dip_has_its_candidates_and_what_could_have_decided() -> None:
    (row,) = text_rows(ib.dips_table(asked("dips", Run("slow", stall=(4,)), steps=["l.i1"])).html()).values()
    assert row == ["4", "0", "0", "unexplained", "nothing that was captured points to a cause"]
    dips = asked("dips", sampled(pages_flushed_sync=grown(500)), steps=["l.i1"])
    (row,) = text_rows(ib.dips_table(dips).html()).values()
    assert row[3] == "unexplained"
    assert row[4].startswith("candidates: checkpoint (2); not captured, and could have decided: ")
    assert "server.redo_file_waits_per_s" in row[4]
