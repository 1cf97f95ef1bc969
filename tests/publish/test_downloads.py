"""Files to save: their text, their length, and what is left out."""

import gzip
from datetime import datetime
from pathlib import Path

import duckdb
import polars as pl
import pytest
from playwright.sync_api import Browser

from ibench_lib.base.mask import mask_of_machine
from ibench_lib.paths import Workspace
from ibench_lib.publish import downloads as evidence_data
from ibench_lib.publish.downloads import csv_text, downloads
from ibench_lib.publish.evidence import evidence
from ibench_lib.show.kit.pieces import Html
from tests.publish.browsing import open_page
from tests.publish.saving import page_with, saved, selection_of
from tests.synthetic import three_configurations

pytestmark = pytest.mark.lake


@pytest.mark.long
def test_a_long_answer_is_saved_packed(
    workspace: Workspace, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence_data, "PLAIN_BYTES", 1000)
    selection = selection_of(workspace, *three_configurations())
    frame = selection.ask("one_second")
    page = open_page(browser, page_with(evidence(selection).html, tmp_path), accept_downloads=True).page
    name, content = saved(page, "one_second")
    assert name == "one_second.csv.gz"
    assert gzip.decompress(content) == csv_text(frame)


@pytest.mark.long
def test_a_browser_saves_a_file_as_long_as_may_be(tmp_path: Path, browser: Browser) -> None:
    noise = duckdb.sql("SELECT md5(range::VARCHAR) AS noise FROM range(51_000)").pl()
    (file,) = downloads([("noise", noise)])
    assert file.packed is not None
    assert 0.95 < len(file.packed) / evidence_data.MOST_PACKED_BYTES <= 1
    markup = Html('<div id="evidence.noise">', file.html, "</div>")
    page = open_page(browser, page_with(markup, tmp_path), accept_downloads=True).page
    assert pl.read_csv(gzip.decompress(saved(page, "noise")[1])).equals(noise)


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
        assert "left out" in file.html.markup and "href" not in file.html.markup
    assert "all.csv, 10,000 rows, 330.0 kB: left out" in files[0].html.markup


def test_a_page_that_gets_too_large_lets_go_of_its_longest_file_and_says_so(tmp_path: Path) -> None:
    noise = duckdb.sql("SELECT md5(range::VARCHAR) AS noise FROM range(40_000)").pl()
    markup = Html(*(file.html for file in downloads([("long", noise), ("short", noise.head(9000))])))
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
