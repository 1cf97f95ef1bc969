"""The page of forced stalls: only the half that judges is counted, and a cause taken for another one is seen."""

from __future__ import annotations

import re

import pytest

from benchmarks.stall_causes import FORCED, LOADS, OPTIONS, Load, judging, matrix, report, rows_per_s
from ibench_lib.store import reader
from tests.places import ROOT
from tests.shared import lake_of
from tests.synthetic import Run

pytestmark = pytest.mark.lake

FOUND = {
    "lock": [("purge", "high"), ("lock", "high"), ("unexplained", ""), ("lock", "medium")],
    "client_pause": [("client_pause", "high"), ("server_stopped", "high")] * 2,
    "checkpoint": [("checkpoint", "high"), ("no dip", "")],
}


def test_a_row_is_what_was_done_and_a_column_what_was_said_in_the_half_that_judges() -> None:
    assert matrix(judging(FOUND, fitted=True)) == [
        "| forced | lock | server_stopped | right | of these with high confidence | no dip |",
        "|---|---|---|---|---|---|",
        "| lock | 2 |  | 2 of 2 | 1 |  |",
        "| client_pause |  | 2 | 0 of 2 | 0 |  |",
        "| checkpoint |  |  | 0 of 0 | 0 | 1 |",
    ]


def test_all_judge_where_no_threshold_was_chosen_by_them() -> None:
    text = report("Insert Benchmark on 15.18", 4, FOUND, {}, 0, [], fitted=False)
    assert "without any of these injections; the table has all." in text and "5 of 9 labels are right." in text
    assert "| lock |  |  | 2 | 1 |  | 1 | 2 of 4 | 1 |  |" in text


def test_the_page_counts_right_labels_swapped_sides_and_blamed_steps() -> None:
    blamed = ["healthy3 with 1G: lock at 2 s", "healthy3 with 1G: lock at 6 s"]
    text = report("Insert Benchmark on 9.7.4", 4, FOUND, {"memory": "needs swap"}, 50, blamed)
    assert "2 of 4 labels are right." in text
    assert "or\nthe reverse, 2 times." in text
    assert "In 50 steps in which nothing was done, 1 had a dip with a cause of high confidence:" in text
    assert "Not forced: memory (needs swap)." in text
    text = report("Insert Benchmark on 9.7.4", 4, {"client_pause": FOUND["client_pause"][:2]}, {}, 50, blamed)
    assert "0 of 1 label is right." in text and "or\nthe reverse, 1 time." in text


def test_what_is_forced_has_a_cause_that_the_rules_know() -> None:
    lake = lake_of(Run("a"))
    known = dict(reader.sql(lake, "SELECT cause, family FROM dip_causes").iter_rows())
    for forced in FORCED.values():
        assert forced.cause in known, forced.name
        assert known[forced.cause] in (None, forced.family), "no other family's"
        assert forced.family is None or forced.family in OPTIONS


def test_a_page_names_nothing_that_is_for_another_family() -> None:
    mine = [name for name, forced in FORCED.items() if forced.family in (None, "postgres")]
    text = report("here", 2, {"table_lock": [("table_lock", "high")] * 2}, {}, 0, [], mine)
    assert "Not measured in this round:" in text and "autovacuum" in text and "purge" not in text
    assert "| table_lock | 1 | 1 of 1 | 1 |" in text


@pytest.mark.parametrize("load", LOADS.values(), ids=list(LOADS))
def test_the_lines_of_a_workload_are_filled_in(load: Load) -> None:
    known = {"rows": 1, "seconds": 2.0, "steps": "l.i0"}
    for line in (load.setup, load.workload):
        assert "{" not in line.format_map(known)
    assert rows_per_s(None) > rows_per_s(FORCED["redo"])


def test_what_is_said_of_postgres_is_in_its_table() -> None:
    pages = ROOT / "docs"
    said = " ".join((pages / "postgres.md").read_text(encoding="utf-8").split())
    assert "ten dips by a lock of a table and ten by checkpoints were all put down to these" in said
    text = (pages / "benchmarks" / "stall_causes.md").read_text(encoding="utf-8")
    section = text.partition("<!-- section stall_causes_postgres:")[2].partition("<!-- end of")[0]
    for name in ("table_lock", "forced_checkpoint"):
        assert re.search(rf"^\| {name} \|.*\| 10 of 10 \| 10 \|", section, re.MULTILINE), section
    assert "| autovacuum |" not in section
    assert "Of ten dips by autovacuum, " in said and " eight were put down to it. Two were put down to nothing" in said
    of_queries = text.partition("<!-- section stall_causes_postgres_queries:")[2].partition("<!-- end of")[0]
    assert re.search(r"^\| autovacuum \|.*\| 8 of 10 \| 5 \|", of_queries, re.MULTILINE), of_queries
    assert "| forced | unexplained | vacuum |" in of_queries, "none was put down to anything else"
