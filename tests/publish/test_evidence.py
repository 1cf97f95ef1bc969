"""What a post rests on: every question with its SQL and its data, saved by a real browser, and all of it inert."""

import gzip
import io
import json
import re
from datetime import datetime
from pathlib import Path

import duckdb
import nbformat
import polars as pl
import pytest
from playwright.sync_api import Browser, Page

from ibench_lib.ask.selection import Selection, choose
from ibench_lib.base.mask import mask_of_machine
from ibench_lib.lake import reader
from ibench_lib.paths import Workspace
from ibench_lib.publish import downloads as evidence_data
from ibench_lib.publish.downloads import csv_text, downloads
from ibench_lib.publish.evidence import evidence
from ibench_lib.publish.page import PageText, render
from ibench_lib.publish.record import RUNS_MIME
from tests.publish.browsing import open_page
from tests.publish.posting import HOSTILE
from tests.synthetic import Run, three_configurations, write_runs


def selection_of(workspace: Workspace, *runs: Run) -> Selection:
    write_runs(workspace, *runs)
    return choose(reader.lake(workspace), "demo")


def saved(page: Page, question: str) -> tuple[str, bytes]:
    """The file that a click on a question's link gives: (its name, its content)."""
    page.evaluate("name => { location.hash = `evidence.${name}` }", question)
    with page.expect_download() as waiting:
        page.locator(f"[id='evidence.{question}'] a.data").click()
    download = waiting.value
    return download.suggested_filename, Path(download.path()).read_bytes()


def asked_again(demo: Path, question: str) -> pl.DataFrame:
    return choose(reader.lake(Workspace(demo.parents[3])), "demo").ask(question)


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


def test_a_long_answer_is_saved_packed(
    workspace: Workspace, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence_data, "PLAIN_BYTES", 1000)
    selection = selection_of(workspace, *three_configurations())
    frame = selection.ask("one_second")
    page = open_page(browser, page_with(evidence(selection).markup, tmp_path), accept_downloads=True).page
    name, content = saved(page, "one_second")
    assert name == "one_second.csv.gz"
    assert gzip.decompress(content) == csv_text(frame)


def test_a_browser_saves_a_file_as_long_as_may_be(tmp_path: Path, browser: Browser) -> None:
    noise = duckdb.sql("SELECT md5(range::VARCHAR) AS noise FROM range(51_000)").pl()
    (file,) = downloads([("noise", noise)])
    assert file.packed is not None
    assert 0.95 < len(file.packed) / evidence_data.MOST_PACKED_BYTES <= 1
    markup = f'<div id="evidence.noise">{file.markup()}</div>'
    page = open_page(browser, page_with(markup, tmp_path), accept_downloads=True).page
    assert pl.read_csv(gzip.decompress(saved(page, "noise")[1])).equals(noise)


def page_with(markup: str, folder: Path, most_bytes: int = 10**7) -> Path:
    """A page of one section with this in it."""
    output = nbformat.v4.new_output("display_data", {"text/html": markup})
    cells = [
        nbformat.v4.new_markdown_cell("## Evidence", id="evidence"),
        nbformat.v4.new_code_cell("", outputs=[output]),
    ]
    text = PageText("Title", "Author", datetime(2026, 11, 21).date(), "", {})
    path = folder / "page.html"
    path.write_bytes(render(nbformat.v4.new_notebook(cells=cells), text, most_bytes))
    return path


def test_every_question_that_was_asked_is_there_with_parameters_sql_and_rows(
    workspace: Workspace, tmp_path: Path, browser: Browser
) -> None:
    selection = selection_of(workspace, *three_configurations())
    throughput = selection.ask("step_throughput")
    selection.ask("one_second", points=7)
    selection.ask("one_second")
    page = open_page(browser, page_with(evidence(selection).markup, tmp_path)).page
    named = page.locator("details.question").evaluate_all("all => all.map(each => each.id)")
    assert named[-3:] == ["evidence.step_throughput", "evidence.one_second", "evidence.one_second-2"]
    assert len(named) == len(selection.asked)
    page.evaluate("location.hash = 'evidence.one_second'")
    asked = page.locator("[id='evidence.one_second']")
    assert asked.locator("pre").inner_text().strip() == reader.question_text("one_second").strip()
    assert asked.locator("tr", has_text="$points").inner_text().split() == ["$points", "7"]
    assert asked.locator("tr", has_text="$runs").inner_text().split("\t")[1] == "the 3 runs of this post"
    assert f"({len(throughput)} rows)" in (page.locator("[id='evidence.step_throughput'] summary").text_content() or "")
    build_on = page.locator("details[id^='evidence.sql.']").evaluate_all("all => all.map(each => each.id)")
    assert {"evidence.sql.selected_steps", "evidence.sql.selected_runs", "evidence.sql.run_steps"} <= {*build_on}


def test_a_link_to_a_question_unfolds_it(demo: Path, browser: Browser) -> None:
    page = open_page(browser, demo, fragment="#evidence.sla").page
    page.wait_for_selector("[id='evidence.sla'][open] pre")
    assert not page.locator("[id='evidence.fairness'] pre").is_visible()
    page.evaluate("location.hash = 'evidence.fairness'")
    page.wait_for_selector("[id='evidence.fairness'][open] pre")
    assert page.locator("[id='evidence.fairness'] summary").evaluate("e => e.getBoundingClientRect().top") < 900


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
        "system.cy10ap1, cached: 1 option other than system.cy10a",
        "system.cy10ap1lag, cached: 1 option other than system.cy10a",
    ]
    assert "+innodb_purge_batch_size=1\n" in configurations[1]
    assert "innodb_purge_threads=4  # cy10a.cnf:2" in configurations[1]
    versions = page.locator("#evidence-versions tbody tr").all_inner_texts()
    assert any(re.fullmatch(r"python\s+3\.11\s+\d+\.\d+\.\d+", row) for row in versions), versions
    assert any(re.fullmatch(r"duckdb\s+-\s+\d.*", row) for row in versions)
    assert page.locator("#evidence-warnings li").all_inner_texts() == [
        "innodb_io_capacity: asked <1> (p1.cnf:6), the server uses 100 (system.cy10ap1, cached, repeat 1)"
    ]


def test_what_did_not_complete_is_told(workspace: Workspace) -> None:
    selection = selection_of(
        workspace,
        Run(),
        Run("x", minute=1, status="failed", failed_step="l.i1", error="server lost", steps=("l.i0", "l.x", "l.i1")),
    )
    found = evidence(selection)
    assert "failed in l.i1: server lost" in found.markup
    listed = found._repr_mimebundle_()[RUNS_MIME]["runs"]
    assert [run["status"] for run in listed] == ["complete", "failed"]
    assert listed[0]["server"] == "system (mariadb 10.11.19-MariaDB)"


def test_a_lake_without_the_experiment_has_questions_and_no_runs(workspace: Workspace) -> None:
    selection = selection_of(workspace)
    selection.ask("sla")
    found = evidence(selection)
    assert "There is no run" in found.markup
    assert 'id="evidence.sla"' in found.markup and "0 rows" in found.markup
    assert found.runs == []


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


def test_csv_keeps_null_apart_from_nothing_and_writes_lists_as_json() -> None:
    frame = pl.DataFrame(
        {
            "text": ['a,"b"\n', None, "", "-x"],
            "list": [["a,", '"'], [], None, ["é"]],
            "struct": [{"n": 1, "deep": [0.5]}, None, None, None],
            "when": [datetime(2026, 11, 21, 10, 0, 1), None, None, None],
            "number": [1e-9, 0.1 + 0.2, None, 12345678901.5],
        }
    )
    assert csv_text(frame).decode() == (
        "text,list,struct,when,number\n"
        '"a,""b""\n","[""a,"",""\\""""]","{""n"":1,""deep"":[0.5]}",2026-11-21T10:00:01.000000,1e-9\n'
        ",[],,,0.30000000000000004\n"
        '"",,,,\n'
        '-x,"[""é""]",,,12345678901.5\n'
    )


def test_what_is_too_long_is_left_out_in_so_many_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence_data, "PLAIN_BYTES", 100)
    monkeypatch.setattr(evidence_data, "MOST_PACKED_BYTES", 4_000)
    monkeypatch.setattr(evidence_data, "MOST_TOGETHER_BYTES", 5_000)
    noise = duckdb.sql("SELECT md5(range::VARCHAR) AS noise FROM range(10_000)").pl()
    files = downloads([("all", noise), ("some", noise.head(150)), ("more", noise.head(140)), ("few", noise.head(2))])
    assert [file.packed is None for file in files] == [True, True, False, False]
    assert files[0].csv_bytes == pytest.approx(330_000, rel=0.01)
    for file in files[:2]:
        assert "left out" in file.markup() and "href" not in file.markup()
    assert "all.csv, 10,000 rows, 330.0 kB: left out" in files[0].markup()


def test_a_page_that_gets_too_large_lets_go_of_its_longest_file_and_says_so(tmp_path: Path) -> None:
    noise = duckdb.sql("SELECT md5(range::VARCHAR) AS noise FROM range(40_000)").pl()
    markup = "".join(file.markup() for file in downloads([("long", noise), ("short", noise.head(9000))]))
    whole = page_with(markup, tmp_path).read_text()
    assert whole.count('<a class="data"') == 2
    fitted = page_with(markup, tmp_path, most_bytes=len(whole) - 1).read_text()
    assert len(fitted) < len(whole) - 800_000
    assert fitted.count('<a class="data"') == 1
    assert "long.csv, 40,000 rows, 1.3 MB" in fitted and "left out because it would make the page too large" in fitted


def test_a_file_names_no_path_of_the_machine_that_a_problem_has_named(workspace: Workspace) -> None:
    frame = pl.DataFrame({"problem": [f"{workspace.runs}/r1 is cut", "fine", None], "list": [["/tmp/x"], [], None]})
    text = csv_text(frame, mask_of_machine(workspace)).decode()
    assert text == 'problem,list\n<workspace>/data/runs/r1 is cut,"[""<tmp>/x""]"\nfine,[]\n,\n'
