"""Every notebook on an empty lake, a tiny one, one with failed and running runs; new ones are covered as they come."""

import ast
import re
from datetime import date
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from playwright.sync_api import Browser

from ibench_lib.ask.selection import choose
from ibench_lib.errors import ParameterError
from ibench_lib.paths import Workspace
from ibench_lib.publish import notebook as notebooks
from ibench_lib.publish.blocks import Blocks, evidence_in
from ibench_lib.publish.notebook import asks, parameters, read_notebook, sections, tags
from ibench_lib.publish.page import PageText, render
from ibench_lib.publish.post_file import check_posts
from ibench_lib.show.kit.chart_text import CHART_MIME, PLOTLY_MIME
from ibench_lib.show.kit.pieces import RUNS_MIME
from ibench_lib.store import reader
from tests.publish.browsing import UNNAMED_TABLE, open_post, serious_violations
from tests.publish.posting import ROOT, VALUES, SharedKernel
from tests.publish.quoted import is_among, not_shown, shown
from tests.synthetic import Run, begin_run, end_run, three_configurations, write_runs

pytestmark = pytest.mark.lake

POSTS = check_posts([ROOT / "papermill_params"], Workspace(ROOT))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PUBLISHED = sorted({post.source for post in POSTS})

ITS_OWN_SOURCE = {"metrics-legend"}
"""Cells whose table is of no answer: what the columns of others mean."""

OF_SOME_RUNS = {
    "compare": {"metric_values-2"}, "tpcc": {"dips", "one_second", "steadiness"},
    "regression": {"stacks", "profile_checks"},
    "insert_benchmark": {"dead_rows_at_step_end", "dead_rows_series", "get_min_dead_rows"},
}  # fmt: skip
"""Questions that a notebook asks of the tiny lake only, or of shipped runs only: `asks` lists those of the latter."""

MAIN = {"tpcc", "linkbench"}
"""Notebooks whose pages a browser checks each time; the others show a part of the same, or have a test of their own."""

EMPTY = {"demo", "linkbench-small"}
"""Posts that are built of an empty lake each time; the long tests build one of every notebook."""

ONE_OF_EACH = ({post.source: post for post in POSTS} | {p.source: p for p in POSTS if p.spec.slug in EMPTY}).values()

every_notebook = pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=() if path.stem in MAIN else pytest.mark.long) for path in PUBLISHED],
)


def own_parameters(path: Path) -> dict[str, Any]:
    """Those of the notebook's post on the demonstration, which is what the tiny lakes look like, else its defaults."""
    chosen = [post.spec.parameters for post in POSTS if post.source == path]
    demo = [values for values in chosen if values.get("experiment") == "demo"]
    return demo[0] if demo else parameters(read_notebook(path), path.name)


def unlinked_cells(ran: NotebookNode) -> list[str]:
    """Cells with a table or chart, other than the evidence, after which there is no link to SQL and data."""
    blocks, found = Blocks(evidence_in(ran)), []
    for cell in ran.cells:
        made = list(blocks.cell(cell))
        outputs = [output.get("data", {}) for output in cell.get("outputs", [])]
        charts = {PLOTLY_MIME, CHART_MIME}
        drawn = any(charts & data.keys() or "<table" in data.get("text/html", "") for data in outputs)
        if drawn and cell.id != "evidence-parts" and not made[-1].startswith('<p class="source"><a href="#evidence.'):
            found.append(cell.id)
    return found


def page_from(ran: NotebookNode, folder: Path) -> Path:
    path = folder / "page.html"
    path.write_bytes(render(ran, PageText("Title", "Author", date(2026, 11, 21), "", {})))
    return path


@pytest.mark.parametrize(
    "post",
    [
        pytest.param(post, id=post.spec.slug, marks=() if post.spec.slug in EMPTY else pytest.mark.long)
        for post in ONE_OF_EACH
    ],
)
def test_a_post_of_an_empty_lake_says_so(post: Any, place: Workspace, kernel: SharedKernel) -> None:
    ran = kernel.run(post.source, post.spec.parameters, place.root)
    text = page_from(ran, place.root).read_text()
    tables = "".join(re.findall(r'<table class="grid".*?</table>', text, re.DOTALL))
    assert "<figure" not in text and not re.search(r"<td(?: style[^>]*)?>", tables), "a chart or a number of nothing"
    assert re.search(r">[^<]*\bno run\b[^<]*<", text), "nothing says that there is no run"


@every_notebook
def test_a_page_of_a_tiny_lake_is_whole(path: Path, place: Workspace, kernel: SharedKernel, browser: Browser) -> None:
    write_runs(place, *three_configurations())
    ran = kernel.run(path, own_parameters(path), place.root)
    assert sections(ran)[-1] == "evidence"
    assert set(unlinked_cells(ran)) <= ITS_OWN_SOURCE
    asked, said = notebooks.shown(ran, "questions"), asks(read_notebook(path))
    assert {*asked} ^ {*said} == OF_SOME_RUNS.get(path.stem, set()), f"`asks` of {path.name}; asked: {asked}"
    (evidence,) = ran.cells[-1].outputs
    assert {run["experiment"] for run in evidence["data"][RUNS_MIME]["runs"]} == {"demo"}
    opened = open_post(browser, page_from(ran, place.root), 390)
    page = opened.page
    assert opened.complaints == []
    assert len(opened.requests) == 1
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.locator("main table, figure").count() >= 3
    assert not re.search(r"no value\.|Empty chart", " ".join(page.locator("figure .alt").all_text_contents()))
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    links = page.evaluate("[...document.querySelectorAll('a[href^=\"#\"]')].map(e => e.getAttribute('href').slice(1))")
    assert set(links) <= set(ids)
    assert page.locator("th:not([scope])").count() == page.locator(UNNAMED_TABLE).count() == 0
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    assert serious_violations(page) == []


def test_a_figure_that_a_tldr_alone_has_is_found() -> None:
    text = "capped 200, 0.67x [0.66, 0.67]; 81.4, 49,812 ms, 1.00x (0.92x to 1.04x)"
    said = "MySQL 9.7 at **0.67x** [0.66, 0.67] for 81 % and 50 s, 1.00x (0.92x to 1.04x); `x 5 %`, [a](b/9 %)"
    assert not_shown([said], text) == []
    others = {"0.67x": "0.68x", "0.66,": "0.65,", "81 %": "82 %", "50 s": "51 s", "1.04x": "1.03x"}
    for right, wrong in others.items():
        assert len(not_shown([said.replace(right, wrong)], text)) == 1, wrong


WAVES = (
    "mysql-9.7, 5 configurations; 3 runs of each; setup waves (database files of 2.7\N{NO-BREAK SPACE}GiB, "
    "buffer pool of 512\N{NO-BREAK SPACE}MiB to 4\N{NO-BREAK SPACE}GiB); 2 clients with 16 connections in all."
)
SHIPPED = {"sample-tpcc-waves": (WAVES, "0.67x", 4), "sample-tpcc-waves-stability": (WAVES, "0.67x", 13)}
"""Posts on shipped runs of TPC-C: what was tested, the largest difference, and the least number of pictures."""


OF_RUNS = {
    "sample-tpcc-waves": {"231/s": ("tpcc_summary", "tps", 1), "49 s": ("tpcc_types", "intended_p99_s", 1)},
    "sample-tpcc-waves-stability": {"17 %": ("tpcc_stability", "wave_share", 100)},
}
"""Figures of a tl;dr that are of single runs: tables have medians, but the answers below them have each run.

By the figure: the question, its column, and how many units of the figure a value of 1 is.
"""


@pytest.mark.long
@pytest.mark.parametrize("slug", SHIPPED)
def test_a_page_of_shipped_runs_answers_on_its_first_screen(
    slug: str, place: Workspace, kernel: SharedKernel, browser: Browser
) -> None:
    (post,) = (post for post in POSTS if post.spec.slug == slug)
    place.sample.symlink_to(ROOT / "data" / "sample")
    tested, largest, pictures = SHIPPED[slug]
    ran = kernel.run(post.source, post.spec.parameters, place.root)
    opened = open_post(browser, page_from(ran, place.root), 390)
    page = opened.page
    assert opened.complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.locator(".headline .tested").inner_text() == tested
    strip = page.locator(".headline figure").first
    assert largest in strip.inner_text()
    box = strip.bounding_box()
    assert box is not None and box["y"] + box["height"] < 844, "the screen of a phone"
    assert page.locator("figure").count() >= pictures
    assert not re.search(r"no value\.|Empty chart", " ".join(page.locator("figure .alt").all_text_contents()))
    assert {*not_shown(post.spec.tldr, shown(ran))} <= {*OF_RUNS[slug]}, "figures that no table or sentence has"
    chosen = choose(reader.lake(place), runs=post.spec.parameters["runs"])
    for figure, (question, column, units) in OF_RUNS[slug].items():
        assert is_among(figure, [units * value for value in chosen.ask(question)[column].drop_nulls()]), figure


QUOTING = (
    ("sample",), ("sample-mvcc-gc",), ("sample-regression",),
    ("sample-linkbench-regression", "sample-linkbench"), ("sample-sysbench", "sample-sysbench-chain"),
    ("sample-postgres",), ("sample-postgres-fairness",),
)  # fmt: skip
"""Posts on shipped runs whose tl;dr has figures, each after the one that it takes some of them from."""


@pytest.mark.long
@pytest.mark.parametrize("slugs", QUOTING, ids=lambda slugs: slugs[-1])
def test_the_figures_of_a_tldr_are_those_of_its_page(
    slugs: tuple[str, ...], place: Workspace, kernel: SharedKernel
) -> None:
    place.sample.symlink_to(ROOT / "data" / "sample")
    text = ""
    for slug in slugs:
        (post,) = (post for post in POSTS if post.spec.slug == slug)
        ran = kernel.run(post.source, post.spec.parameters, place.root)
        text += shown(ran)
        assert not_shown(post.spec.tldr, text) == [], slug
        assert {*notebooks.shown(ran, "questions")} <= {*post.asks}, f"`asks` of {post.source.name}"


@pytest.mark.long
@every_notebook
def test_failed_and_running_runs_and_files_that_could_not_be_read_show(
    path: Path, place: Workspace, kernel: SharedKernel
) -> None:
    # A notebook that shows two dbms shows the first and the second, or the first and the last.
    steps = ("l.i0", "l.x", "l.i1")
    (failed,) = write_runs(place, Run(status="failed", failed_step="l.i1", error="server lost", steps=steps))
    damaged = failed.run_dir / "ops.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-9])
    live = [Run(name, status="running", minute=2, steps=steps, l_i1_s=2) for name in ("cy10ap1", "cy10ap1lag")]
    writers = [begin_run(place, run, sealed=("l.i0", "l.x")) for run in live]
    try:
        assert len(reader.sql(reader.lake(place), "SELECT * FROM problems")) == 1
        text = page_from(kernel.run(path, own_parameters(path), place.root), place.root).read_text()
    finally:
        for writer, run in zip(writers, live, strict=True):
            end_run(writer, run)
    visible = re.sub(r"<(script|style|details).*?</\1>", "", text, flags=re.DOTALL)
    assert "failed" in visible and "running" in visible
    assert re.search(rf"{failed.run_dir.name}.*?ops\.parquet", visible, re.DOTALL)
    assert "Every file of the runs could be read." not in visible


@pytest.mark.parametrize(
    "runs", [pytest.param((), id="none", marks=pytest.mark.long), pytest.param(three_configurations(), id="some")]
)
def test_a_notebook_for_the_lab_runs_with_and_without_runs(
    runs: tuple[Run, ...], place: Workspace, kernel: SharedKernel
) -> None:
    write_runs(place, *runs)
    for path in NOTEBOOKS:
        if path not in PUBLISHED:
            kernel.run(path, {}, place.root)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_are_short(path: Path) -> None:
    for cell in read_notebook(path).cells:
        if cell.cell_type == "code" and "parameters" not in tags(cell):
            assert 1 <= len(cell.source.splitlines()) <= 5, cell.source
            long = (ast.FunctionDef, ast.Lambda, ast.For, ast.While, ast.comprehension)
            assert not any(isinstance(node, long) for node in ast.walk(ast.parse(cell.source))), cell.source


def test_post_files_lie_in_the_folder_of_their_notebook() -> None:
    for post in POSTS:
        assert post.path.parent.name == post.spec.notebook


def test_the_tests_know_the_parameters_of_the_insert_benchmark() -> None:
    path = ROOT / "notebooks" / "insert_benchmark.ipynb"
    assert parameters(read_notebook(path), path.name) == VALUES["parameters"]


@pytest.mark.parametrize("source", ["x = open('f')", "x = y = 1", "import os", "x.y = 1", "x ="])
def test_only_literals_are_parameters(source: str) -> None:
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": ["parameters"]})
    with pytest.raises(ParameterError, match=r"n\.ipynb: the cell tagged `parameters`"):
        parameters(nbformat.v4.new_notebook(cells=[cell]), "n.ipynb")
