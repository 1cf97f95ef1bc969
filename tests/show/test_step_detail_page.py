"""The notebook of a step and its page."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, Page

from ibench_lib.paths import Workspace
from ibench_lib.publish.post import build_post
from tests.places import ROOT
from tests.publish.browsing import open_post, table_rows
from tests.show.stalled import said

pytestmark = pytest.mark.lake


def cells_run(place: Workspace, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> dict[str, Any]:
    """Run the notebook's cells in this process; cell id -> value of its last line."""
    monkeypatch.setenv("IBENCH_HOME", str(place.root))
    names: dict[str, Any] = {}
    values = {}
    for cell in nbformat.read(ROOT / "notebooks" / "step_detail.ipynb", as_version=4).cells:
        if cell.cell_type == "code":
            body = ast.parse(cell.source).body
            last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
            exec(compile(ast.Module(body, []), cell.id, "exec"), names)
            values[cell.id] = eval(compile(last, cell.id, "eval"), names) if last else None
            if cell.id == "parameters":
                names |= changes
    return values


@pytest.mark.slow
def test_an_empty_lake_gives_clear_sentences(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    values = cells_run(workspace, monkeypatch)
    assert "no run of this experiment" in said(values["provenance"])
    assert "There is no run yet." in said(values["provenance"])
    assert said(values["not-captured"]) == ""
    assert said(values["opening"]) == "There is no run yet, so there is nothing to show."
    assert said(values["dips-tables"]) == "No dip was found."
    assert said(values["detail-charts"]) == "No second was recorded."
    assert said(values["response-heat"]) == "No response time was recorded."


@pytest.fixture(scope="module")
def page(place: Workspace) -> Path:
    """The page that the stored post file makes of these runs."""
    return build_post(ROOT / "papermill_params" / "step_detail" / "demo-l-i1.yml", place)


@pytest.fixture(scope="module")
def opened(page: Path, browser: Browser) -> Page:
    found = open_post(browser, page)
    assert found.requests == [page.as_uri()]
    assert found.complaints == []
    return found.page


@pytest.mark.long
def test_every_panel_of_the_page_is_drawn(opened: Page) -> None:
    charts = opened.evaluate(
        """[...document.querySelectorAll('#time-axis figure.chart')].map(chart => ({
            title: chart.querySelector('figcaption').textContent,
            panels: [...chart.querySelectorAll('.cartesianlayer .subplot')].map(panel =>
                [...panel.querySelectorAll('.trace path')].filter(path => path.getBBox().width > 1).length),
            bands: chart.querySelectorAll('.shapelayer path').length,
            images: chart.querySelectorAll('.hm image').length,
        }))"""
    )
    titles = ["l.i1, cached: system.cy10a", "l.i1, cached: system.slow", "l.i1, cached: system.x (l.i1: failed)"]
    assert [chart["title"] for chart in charts] == titles
    assert all(len(chart["panels"]) == 18 for chart in charts), charts
    assert all(charts[0]["panels"]), charts[0]
    assert [chart["bands"] for chart in charts] == [0, 1, 1]
    assert all(chart["images"] == 1 for chart in charts)
    assert opened.locator("#response-times figure.chart .hm image").count() == 2 * 4  # insert and delete


@pytest.mark.long
def test_the_page_s_tables_and_sentences(opened: Page) -> None:
    assert list(table_rows(opened, "Dips of l.i1, cached")) == ["system.slow", "system.x (failed)"]
    said = opened.locator(".headline .statements li").all_inner_texts()
    assert any(line.startswith("l.i1, system.x: it failed after 10.0 s") for line in said)
    assert opened.locator("#story details.fold caption").count() == 2
    assert opened.locator("th:not([scope])").count() == 0
    assert opened.evaluate("document.documentElement.scrollWidth") == 1280
    too_wide = "tables => tables.filter(table => table.scrollWidth > table.clientWidth).length"
    assert opened.locator("main .table").evaluate_all(too_wide) == 0


@pytest.mark.long
def test_each_sentence_and_the_time_axis_lead_to_the_questions_they_rest_on(opened: Page) -> None:
    links = "found => found.map(e => [...e.querySelectorAll('a.source')].map(a => a.getAttribute('href')))"
    both = ["#evidence.steadiness", "#evidence.dips"]
    assert opened.locator(".headline .statements li").evaluate_all(links) == [both] * 3
    missing = opened.locator("#time-axis li").evaluate_all(links)
    assert missing and all(found == ["#evidence.uncaptured"] for found in missing)
    assert opened.locator("#time-axis p.source").inner_text() == (
        "SQL and data: operation_series, server_series, device_series, cpu_series, response_percentiles_over_time, "
        "response_shares_over_time, steadiness, dips"
    )


@pytest.mark.long
def test_hovering_names_a_panel_s_lines_at_one_moment(opened: Page) -> None:
    chart = opened.locator("#time-axis figure.chart .plot").first
    chart.evaluate("chart => chart.scrollIntoView({behavior: 'instant'})")
    box = chart.locator(".nsewdrag").first.bounding_box()
    assert box
    opened.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    opened.mouse.move(box["x"] + box["width"] / 2 + 2, box["y"] + box["height"] / 2 + 1)
    hover = opened.locator("#time-axis .hoverlayer .legend").first
    hover.wait_for()
    assert re.search(r"inserts : 5000 rows/s.*deletes : 5000 rows/s", hover.text_content() or "")
