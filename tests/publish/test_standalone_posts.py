"""The posts that people link to alone: purge lag, the query that it slows down, fairness."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from ibench_lib.importers.intake import import_file
from ibench_lib.paths import Workspace
from tests.importers.sysbench_logs import log
from tests.places import GOLDEN
from tests.publish.browsing import open_post, sentences, table_rows
from tests.publish.posting import SharedKernel, page_of
from tests.show.parsed import golden
from tests.synthetic import Run, begin_run, end_run, write_runs

pytestmark = [pytest.mark.lake, pytest.mark.slow]

LAG = "History list length at the end of each step, cached"
RESULTS = {
    "purge_lag": ("purge-lag", LAG),
    "mvcc_gc": ("purge-lag", LAG),
    "fairness": ("start", "Clients of l.i1, cached"),
}
"""Notebook -> the id of a section, and a table in it."""


@pytest.mark.long
@pytest.mark.parametrize("notebook", [*RESULTS])
def test_what_failed_and_what_goes_on_are_words(
    notebook: str, place: Workspace, kernel: SharedKernel, browser: Browser
) -> None:
    steps = ("l.i0", "l.x", "l.i1")
    write_runs(place, Run(), Run("bad", minute=1, status="failed", failed_step="l.i1", error="lost", steps=steps))
    live = Run("live", minute=2, status="running", steps=steps, l_i1_s=2)
    writer = begin_run(place, live, sealed=("l.i0", "l.x"))
    try:
        path = page_of(kernel, place, notebook, experiment="demo")
    finally:
        end_run(writer, live)
    page = open_post(browser, path).page
    runs = table_rows(page, "Runs")
    assert runs["system.bad"][3] == "failed in l.i1: lost"
    assert runs["system.live"][3] == "running"
    section, table = RESULTS[notebook]
    cells = table_rows(page, table)
    assert "failed" in cells["system.bad"] and "running" in cells["system.live"]
    # A sentence that the page has had before is said by its beginning, as a link to it.
    lines = [line.removeprefix("As above: “") for line in sentences(page, section)]
    assert len([line for line in lines if line.startswith("Not compared")]) == 1
    (said,) = [text for text in page.locator(".statements li").all_inner_texts() if text.startswith("Not compared")]
    assert "system.bad in cached (l.i1 failed" in said and "system.live in cached (l.i1 running" in said


@pytest.mark.long
def test_the_published_seconds_are_drawn_as_they_were_published(
    place: Workspace, kernel: SharedKernel, browser: Browser
) -> None:
    published = GOLDEN / "published_get_min_seconds.csv"
    import_file(published, "report-2023", "report of August 2023", place)
    page = open_post(browser, page_of(kernel, place, "mvcc_gc", experiment="report-2023")).page
    assert "published, not measured here" in page.locator("#made-from .loud").inner_text()
    rows = golden(published.name)
    for setup in ("cached", "io_bound"):
        drawn = table_rows(page, f"Seconds of get_min, {setup}")
        steps = ("l.i1", "q100", "q500", "q1000")
        values = {(row["dbms"], row["step"]): float(row["get_min_s"]) for row in rows if row["setup"] == setup}
        assert len(drawn) == 15
        for name, cells in drawn.items():
            dbms = name.removesuffix(" (published)")
            assert dbms != name
            shown = [float(cell.removesuffix(" slow")) for cell in cells]
            assert shown == [values[dbms, step] for step in steps]


def test_a_post_on_an_archive_has_its_published_table_next_to_what_its_logs_give(
    place: Workspace, kernel: SharedKernel, tmp_path: Path
) -> None:
    result = "my8033.cy10a"
    (tmp_path / result).mkdir()
    for test in ("read-only.range10", "scan.range100"):
        (tmp_path / result / f"sb.o.{test}.pk1.dop4").write_text(log((), rest=3000))
    (tmp_path / "table.csv").write_text(
        f"setup,dbms,step,qps\nsmall,{result},read-only-10.t4,5998\nsmall,{result},scan.t4,114\n"
    )
    import_file(tmp_path / result, "theirs", "their logs", place, setup="small", dbms=result)
    import_file(tmp_path / "table.csv", "theirs_published", "their table", place)
    text = page_of(kernel, place, "imported", experiment="theirs*").read_text()
    assert "Of 2 published figures with files to recompute them from, 1 is what the files give" in text
    assert "another unit: thousands of rows that one scan reads per second" in text
    assert "theirs: 1 run with 2 steps from imported logs of 2 files. Source: their logs." in text
    assert "Not known: " in text and "No file has samples of the host or its disks." in text
