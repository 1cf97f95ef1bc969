"""Two dbms side by side: which two, what may be said of their metrics, and the page that says it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from playwright.sync_api import Browser, Page

import ibench_lib as ib
from ibench_lib.analysis.comparison import compared
from ibench_lib.analysis.verdicts import ratio
from ibench_lib.errors import ParameterError, PostFailed
from ibench_lib.paths import Workspace
from ibench_lib.publish.post import build_post
from ibench_lib.store import reader
from ibench_lib.store.manifest import with_checksum
from tests.ask.pairs import of_step, pair_of, repeated, said
from tests.publish.browsing import UNNAMED_TABLE, open_post, table_rows
from tests.publish.posting import HOSTILE, params_file, with_notebook
from tests.shared import lake_of
from tests.show.parsed import Parsed
from tests.store.test_compare_questions import change_manifest
from tests.synthetic import Run, three_configurations, write_runs

pytestmark = pytest.mark.lake

PARAMETERS: dict[str, Any] = {
    "experiment": "demo", "runs": [], "a": "", "b": "", "setups": [], "steps": [], "palette": "default",
}  # fmt: skip


@pytest.mark.slow
def test_the_first_two_are_compared_or_those_that_are_named() -> None:
    pair = pair_of(*three_configurations())
    assert (pair.base, pair.other) == ("system.cy10a", "system.cy10ap1")
    lake = lake_of(*three_configurations())
    for a, b, found in (
        ("", "system.cy10a", ("system.cy10ap1", "system.cy10a")),
        ("system.cy10ap1lag", "", ("system.cy10ap1lag", "system.cy10a")),
        ("system.cy10ap1lag", "system.cy10ap1", ("system.cy10ap1lag", "system.cy10ap1")),
    ):
        pair = ib.pair(ib.choose(lake, "demo"), a, b)
        assert (pair.base, pair.other) == found
        assert sorted(pair.ask("selected_runs")["dbms"]) == sorted(found)
    chosen = ib.choose(lake, "demo", base="system.cy10ap1lag")
    assert [(two.base, two.other) for two in (ib.pair(chosen), ib.pair(chosen, b="system.cy10ap1lag"))] == [
        ("system.cy10ap1lag", "system.cy10a"), ("system.cy10a", "system.cy10ap1lag"),
    ]  # fmt: skip
    for a, b, wrong in (("system.cy10", "", "a 'system.cy10' is in none of the selected runs; did you mean"),
                        ("system.cy10a", "system.cy10a", "a and b are both 'system.cy10a'")):  # fmt: skip
        with pytest.raises(ParameterError) as caught:
            ib.pair(ib.choose(lake, "demo"), a, b)
        assert caught.value.what.startswith(wrong)


@pytest.mark.long
@pytest.mark.slow
def test_one_dbms_of_two_experiments_can_be_compared_with_itself_and_with_others() -> None:
    lake = lake_of(Run(), Run(minute=1, experiment="other", l_i1_s=20), Run("z", minute=2, experiment="other"))
    pair = ib.pair(ib.choose(lake, "*"), "system.cy10a (demo)", "system.cy10a (other)")
    assert of_step(pair, "l.i1")["inserts/s"].ratio == pytest.approx(ratio([2500.0], [5000.0]))
    # Next to z, it is the only one of its name.
    pair = ib.pair(ib.choose(lake, "*"), "system.cy10a (other)", "system.z")
    assert (pair.base, pair.other) == ("system.cy10a", "system.z")
    assert of_step(pair, "l.i1")["inserts/s"].a == [2500.0]


@pytest.mark.slow
def test_the_list_counts_what_it_leaves_out_and_sends_nobody_to_tables_that_a_page_may_lack(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ibench_lib.show.compare.differences.MOST_SAID", 2)
    *_, last = [line for line in said(ib.differences(pair_of(*three_configurations()))) if " more " in line]
    assert re.fullmatch(r"\d+ more are not listed here\.", last)


@pytest.mark.long
@pytest.mark.slow
def test_responses_are_compared_by_operation_and_timing() -> None:
    pair = pair_of(*repeated("a", "b"))
    intended = pair.responses().filter(step="qr100", operation="insert").with_columns(timing=pl.lit("intended"))
    slower = pl.when(pl.col("dbms") == "system.b").then(2 * pl.col("value")).otherwise(pl.col("value"))
    # What is changed here has only its own noise.
    frame = pl.concat([pair.responses().filter(step="qr100"), intended.with_columns(value=slower)])
    frame = frame.drop("log_ratio", "log_se", "log_df")
    labels = [one.label for one in compared(frame, "system.a", "system.b")]
    # 20 inserts: one in a hundred of them is the largest.
    some = ("p50", "p90", "max")
    assert labels == [
        *(f"{p} of insert" for p in some),
        *(f"{p} of insert, intended" for p in some),
        *(f"{p} of delete" for p in some),
        *(f"{p} of range_query" for p in ("p50", "p90", "p99", "p99.9", "max")),
    ]
    table = Parsed(ib.metrics_side_by_side(frame, "system.a", "system.b"))
    assert table.of("max of insert (ms)") == ["2.000", "2.000", "1.00", "1.00 to 1.00", "same", "6 %"]
    assert table.of("max of insert, intended (ms)") == ["2.000", "4.000", "2.00", "2.00 to 2.00", "worse", ""]


def test_what_differs_beside_is_said_with_its_origin_and_noise_is_named(workspace: Workspace) -> None:
    base, lagging, _ = three_configurations()
    write_runs(workspace, base, lagging)
    old = {"server_uuid": "1", "socket": "/tmp/1/s", "old": "<b>", "old_mode": "", "sort": "1"}
    change_manifest(workspace, base, variables=old)
    new = {"server_uuid": "2", "socket": "/tmp/2/s", "sort": ""}
    change_manifest(workspace, lagging, variables=new, host={"cpus": 4})
    pair = ib.pair(ib.choose(reader.lake(workspace), "demo"))
    sides = {"a": pair.base, "b": pair.other}
    options = Parsed(ib.options_side_by_side(pair.ask("config_diff"), **sides))
    assert options.of("innodb_purge_batch_size") == ["not set", "", "1", "p1.cnf:5"]
    assert pair.facts("variable")["fact"].to_list() == ["sort"], "of both"
    assert Parsed(ib.facts_side_by_side(pair.facts("variable"), **sides)).of("sort") == ["1", "(empty)"]
    assert Parsed(ib.facts_side_by_side(pair.facts("host"), **sides)).of("cpus") == ["2", "4"]
    assert pair.facts("workload").is_empty()
    only = f"<summary>Only {pair.base} has: 2 variables</summary><p>old=&lt;b&gt;, old_mode= <a"
    assert only in ib.left_out(pair).markup and f"Only {pair.other}" not in ib.left_out(pair).markup
    assert said(ib.left_out(pair))[1] == (
        "These differ, but are left out because they say nothing about how a server works: "
        "socket (where it listens); server_uuid (who the server is)."
    )


def test_a_server_that_did_not_start_has_unknown_variables(workspace: Workspace) -> None:
    failed = Run("x", minute=1, status="failed", steps=())
    write_runs(workspace, Run(), failed)
    path = workspace.run_dir(failed.run_id) / "manifest.json"
    path.write_bytes(with_checksum({**json.loads(path.read_text()), "server": None}))
    pair = ib.pair(ib.choose(reader.lake(workspace), "demo"))
    expected = "system.x, cached, run 1: no variables are known, because its server did not start."
    assert said(ib.left_out(pair))[0] == expected
    imported = {**json.loads(path.read_text()), "server": None, "origin": "imported", "source": "a report"}
    path.write_bytes(with_checksum(imported))
    pair = ib.pair(ib.choose(reader.lake(workspace), "demo"))
    assert said(ib.left_out(pair))[0].endswith("no variables are known, because its files do not have them.")


def test_no_public_name_is_hidden_by_a_module_of_the_same_name() -> None:
    pair_of(*three_configurations())  # imports what there is to import
    ib.contents()
    assert all(callable(getattr(ib, name)) for name in ib.__all__)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Page:
    """Two dbms with repeats, one with a name that attacks, a setup in which it failed, a third that does not matter."""
    workspace = with_notebook(tmp_path_factory.mktemp("compare"))
    hostile = {"dbms": HOSTILE, "options": f"{HOSTILE}={HOSTILE}\n"}
    failed = Run("b", minute=30, setup="io", status="failed", failed_step="l.i1", error=HOSTILE,
                 steps=("l.i0", "l.x", "l.i1"), **hostile)  # fmt: skip
    write_runs(workspace, *repeated("a", "b", l_i1_s=20, **hostile), Run("a", minute=31, setup="io"), failed,
               Run("z", minute=40))  # fmt: skip
    params = params_file(workspace, notebook="compare", slug="pair", title="A and B", notes={}, parameters=PARAMETERS)
    opened = open_post(browser, build_post(params, workspace))
    assert opened.complaints == [] and len(opened.requests) == 1
    return opened.page


@pytest.mark.long
def test_the_page_compares_in_its_order_and_only_two(page: Page) -> None:
    order = page.evaluate("[...document.querySelectorAll('main > section')].map(e => e.id)")
    wanted = ["differences", "metrics", "response-times", "compared", "configurations", "variables", "hosts"]
    assert [name for name in order if name in wanted] == wanted
    first = page.locator(".headline").inner_text()
    assert (
        "Setup cached, inserts with secondary indexes (l.i1): inserts/s and deletes/s 0.50x, slower with <" in first
        and " than with system.a" in first
        and "0.50x, slower\t[0.50, 0.50]" in first
    )
    text = page.locator("main").inner_text()
    assert "Also selected, but not compared: system.z." in text and text.count("system.z") == 1
    assert table_rows(page, "Metrics of l.i1, cached")["inserts/s"] == [
        "5,000", "2,500", "0.50", "0.50 to 0.50", "worse", "",
    ]  # fmt: skip
    assert table_rows(page, "Metrics of l.i1, io")["inserts/s"][:2] == ["5,000", "failed"]
    assert "0.50 [0.50, 0.50], worse." in page.locator("#differences").inner_text()
    assert "io, l.i1: not compared (B: failed)." in page.locator("#differences").inner_text()
    assert table_rows(page, "Response times of qr100, io")["p50 of range_query (ms)"][:2] == ["0.502", "no response"]
    assert page.locator("#hosts").inner_text().count("No recorded host property differs") == 1
    for step in ("l.i0", "l.x", "l.i1", "qr100"):
        for part in ("metrics", "responses"):
            assert page.locator(f"[id='{step}.{part}']").count() == 1
    # Of a heading only the code: the words before it are the workload's.
    heads = page.locator("#metrics h3 .code, #metrics table caption").all_text_contents()
    assert heads == [
        text
        for step in ("l.i0", "l.x", "l.i1", "qr100")
        for text in (step, f"Metrics of {step}, cached", f"Metrics of {step}, io")
    ]
    ids = page.evaluate("[...document.querySelectorAll('main [id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert page.locator(f"th:not([scope]), {UNNAMED_TABLE}").count() == 0


@pytest.mark.long
def test_each_sentence_of_the_page_leads_to_the_question_it_rests_on(page: Page) -> None:
    said = page.locator("#differences p, #differences li, #variables details p, #variables p:not(:first-child)")
    found = said.evaluate_all(
        """all => all.filter(e => !e.matches('.source, .said')).map(e => [
            e.textContent, [...e.querySelectorAll('a.source')].map(a => a.getAttribute('href').slice(10))])"""
    )
    sources = {tuple(links) for _, links in found}
    assert sources == {(), ("selected_runs",), ("metric_values",), ("fact_diff",)}
    without = [text for text, links in found if not links]
    assert without == [
        "Rates of the whole step first, then response times, then the rest; the largest first in each group:",
        "Also selected, but not compared: system.z.",
    ]


@pytest.mark.long
def test_the_page_s_charts_have_points_and_names_stay_text(page: Page) -> None:
    charts = page.evaluate(
        """[...document.querySelectorAll('figure.picture')].map(chart => [
            chart.querySelector('figcaption').textContent, chart.querySelectorAll('circle').length,
            chart.textContent.includes('no ratio: ')])"""
    )
    empty = {title for title, points, _ in charts if not points}
    assert empty == {
        f"{what}: B / A, io"
        for what in ("Metrics of l.i1", "Metrics of qr100", "Response times of l.i1", "Response times of qr100")
    }
    assert {title for title, _, said in charts if said} == empty
    assert page.evaluate("window.hit") is None
    assert page.locator("main img, main script:not([type])").count() == 0
    assert HOSTILE in str(page.locator("#configurations table").first.text_content())
    assert HOSTILE in str(page.locator("#differences").text_content())


@pytest.mark.long
def test_nothing_makes_the_body_wider_than_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 900})
    for _ in range(200):  # the charts follow a moment later
        if page.evaluate("document.documentElement.scrollWidth") == 390:
            break
        page.wait_for_timeout(50)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.long
@pytest.mark.slow
def test_an_empty_lake_and_a_wrong_name_are_sentences(tmp_path: Path) -> None:
    workspace = with_notebook(tmp_path)
    text = build_post(params_file(workspace, notebook="compare", notes={}, parameters=PARAMETERS), workspace).read_text(
        encoding="utf-8"
    )
    assert text.count("There is no run yet, so there is nothing to compare.") == 9
    assert 'class="grid' not in text and "<figure" not in text
    write_runs(workspace, Run())
    wrong = {**PARAMETERS, "a": "system.cy10"}
    with pytest.raises(PostFailed, match=r"ParameterError: a 'system.cy10' is in none of the selected runs"):
        build_post(params_file(workspace, notebook="compare", notes={}, parameters=wrong), workspace)
