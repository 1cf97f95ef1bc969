"""What a post rests on: every question with its SQL and its data, saved by a real browser, and all of it inert."""

import html
import io
import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Browser

from ibench_lib.ask.selection import choose
from ibench_lib.paths import Workspace
from ibench_lib.publish.downloads import csv_text
from ibench_lib.publish.evidence import evidence
from ibench_lib.show.kit.pieces import RUNS_MIME
from ibench_lib.store import catalogue, reader
from tests.publish.browsing import open_page
from tests.publish.posting import HOSTILE
from tests.publish.saving import page_with, saved, selection_of
from tests.synthetic import Run, three_configurations, write_runs
from tests.waiting import until

pytestmark = pytest.mark.lake


def asked_again(demo: Path, question: str) -> pl.DataFrame:
    return choose(reader.lake(Workspace(demo.parents[3])), "demo").ask(question)


@pytest.mark.long
def test_a_click_saves_what_stands_behind_a_table_without_a_network(demo: Path, browser: Browser) -> None:
    opened = open_page(browser, demo, accept_downloads=True)
    name, content = saved(opened.page, "step_throughput")
    assert name == "step_throughput.csv"
    frame = asked_again(demo, "step_throughput")
    assert content == csv_text(frame)
    assert pl.read_csv(content)["throughput"].to_list() == frame["throughput"].to_list()
    name, content = saved(opened.page, "get_min")
    lists = pl.read_csv(content)["client_seconds"].to_list()
    assert [json.loads(text) for text in lists] == asked_again(demo, "get_min")["client_seconds"].to_list()
    assert opened.complaints == []


def test_every_question_that_was_asked_is_there_with_parameters_sql_and_rows(
    workspace: Workspace, tmp_path: Path, browser: Browser
) -> None:
    selection = selection_of(workspace, *three_configurations())
    throughput = selection.ask("step_throughput")
    selection.ask("one_second", points=7)
    selection.ask("one_second")
    page = open_page(browser, page_with(evidence(selection).html, tmp_path)).page
    named = page.locator("details.question").evaluate_all("all => all.map(each => each.id)")
    assert named[-3:] == ["evidence.step_throughput", "evidence.one_second", "evidence.one_second-2"]
    assert len(named) == len(selection.asked)
    page.evaluate("location.hash = 'evidence.one_second'")
    asked = page.locator("[id='evidence.one_second']")
    assert asked.locator("pre").inner_text().strip() == catalogue.question_text("one_second").strip()
    assert asked.locator("tr", has_text="$points").inner_text().split() == ["$points", "7"]
    assert asked.locator("tr", has_text="$runs").inner_text().split("\t")[1] == "the 3 runs of this post"
    assert f"({len(throughput)} rows)" in (page.locator("[id='evidence.step_throughput'] summary").text_content() or "")
    build_on = page.locator("details[id^='evidence.sql.']").evaluate_all("all => all.map(each => each.id)")
    assert {"evidence.sql.selected_steps", "evidence.sql.selected_runs", "evidence.sql.run_steps"} <= {*build_on}


@pytest.mark.long
def test_a_link_to_a_question_unfolds_it(demo: Path, browser: Browser) -> None:
    page = open_page(browser, demo, fragment="#evidence.sla").page
    page.wait_for_selector("[id='evidence.sla'][open] pre")
    assert not page.locator("[id='evidence.fairness'] pre").is_visible()
    page.evaluate("location.hash = 'evidence.fairness'")
    page.wait_for_selector("[id='evidence.fairness'][open] pre")
    summary = page.locator("[id='evidence.fairness'] summary")
    until(lambda: 0 <= summary.evaluate("e => e.getBoundingClientRect().top") < 900, "the page has scrolled there")


@pytest.mark.long
def test_runs_configurations_versions_and_warnings_are_named(demo: Path, browser: Browser) -> None:
    page = open_page(browser, demo).page
    page.evaluate("document.querySelectorAll('.evidence details').forEach(details => details.open = true)")
    runs = page.locator("#evidence-runs tbody tr").all_inner_texts()
    assert len(runs) == 3
    assert all("complete" in run and "mariadb 10.11.19-MariaDB Debian 12" in run for run in runs)
    assert "2 CPUs (all runs)" in page.locator("#evidence-runs li").inner_text()
    assert "title: Purge lag" in page.locator("#evidence-experiment pre").inner_text()
    configurations = page.locator("#evidence-configurations details").all_inner_texts()
    assert [text.splitlines()[0] for text in configurations] == [
        "system.cy10a, cached: the base",
        "system.cy10ap1, cached: 1 option different from system.cy10a",
        "system.cy10ap1lag, cached: 1 option different from system.cy10a",
    ]
    assert "+innodb_purge_batch_size=1\n" in configurations[1]
    assert "innodb_purge_threads=4  # cy10a.cnf:2" in configurations[1]
    versions = page.locator("#evidence-versions tbody tr").all_inner_texts()
    assert any(re.fullmatch(r"python\s+3\.11\s+\d+\.\d+\.\d+", row) for row in versions), versions
    assert any(re.fullmatch(r"duckdb\s+-\s+\d.*", row) for row in versions)
    assert page.locator("#evidence-warnings li").all_inner_texts() == [
        "innodb_io_capacity: asked <1> (p1.cnf:6), the server uses 100 (system.cy10ap1, cached, repeat 1)"
    ]


def said_of_files(workspace: Workspace) -> list[str]:
    """The sentences of the section on files that no checksum vouches for."""
    markup = evidence(choose(reader.lake(workspace), "demo")).html.markup
    return [html.unescape(said) for said in re.findall(r'<p class="said unvouched">(.*?)</p>', markup)]


def test_files_that_no_checksum_vouches_for_are_named_by_kind(workspace: Workspace) -> None:
    runs = three_configurations()
    write_runs(workspace, *runs)
    assert said_of_files(workspace) == []
    first, second, third = (workspace.run_dir(run.run_id) for run in runs)
    for folder in (first, second, third):
        (folder / "my.cnf").write_text("[mysqld]\n")
    (second / "server.log").write_text("ready\n")
    assert said_of_files(workspace) == [
        "No checksum vouches for my.cnf and server.log of all runs, made by an older ibench: nobody would notice a "
        "change there."
    ]
    content = json.loads((first / "manifest.json").read_text())
    del content["manifest_sha256"]
    (first / "manifest.json").write_text(json.dumps(content | {"schema_minor": 2}))
    assert said_of_files(workspace)[0] == (
        "No checksum vouches for manifest.json of system.cy10a, cached, repeat 1, made by an older ibench: nobody "
        "would notice a change of the status, the options, the versions or the warnings."
    )
    (third / "<b>.txt").write_text("")
    for number in range(6):
        (third / f"more{number}").write_text("")
    assert said_of_files(workspace)[2] == (
        "In the folder of system.cy10ap1lag, cached, repeat 1, the manifest does not list <b>.txt, more0, more1, "
        "more2, more3 and 2 more: no checksum vouches for what is not listed, and nothing on this page is made from it."
    )
    assert len(said_of_files(workspace)) == 3
    for folder in (second, third):
        shutil.rmtree(folder)
    (first / "my.cnf").unlink()
    assert len(said_of_files(workspace)) == 1


def test_what_did_not_complete_is_told(workspace: Workspace) -> None:
    selection = selection_of(
        workspace,
        Run(),
        Run("x", minute=1, status="failed", failed_step="l.i1", error="server lost", steps=("l.i0", "l.x", "l.i1")),
    )
    found = evidence(selection)
    assert "failed in l.i1: server lost" in found.html.markup
    listed = found._repr_mimebundle_()[RUNS_MIME]["runs"]
    assert [run["status"] for run in listed] == ["complete", "failed"]
    assert listed[0]["server"] == "system (mariadb 10.11.19-MariaDB)"


def test_a_lake_without_the_experiment_has_questions_and_no_runs(workspace: Workspace) -> None:
    selection = selection_of(workspace)
    selection.ask("sla")
    found = evidence(selection)
    assert "There is no run" in found.html.markup
    assert 'id="evidence.sla"' in found.html.markup and "0 rows" in found.html.markup
    assert found.runs == []


@pytest.mark.long
@pytest.mark.fault("F23")
def test_hostile_texts_are_only_texts_and_stay_what_they_are_in_the_data(hostile: Path, browser: Browser) -> None:
    opened = open_page(browser, hostile, accept_downloads=True)
    page = opened.page
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    for part in ("runs", "experiment", "configurations", "versions", "warnings"):
        assert HOSTILE in (page.locator(f"#evidence-{part}").text_content() or ""), part
    assert page.locator(".evidence").locator("img, script, iframe, [onerror]").count() == 0
    assert page.evaluate("window.hit") is None
    assert opened.requests == [hostile.as_uri()]
    _, content = saved(page, "selected_runs")
    rows = pl.read_csv(io.BytesIO(content))
    assert rows.filter(pl.col("dbms") == HOSTILE)["setup"].to_list() == [HOSTILE]
