"""Which plotly.js a page gets: the part only where it draws all of the page's charts, and only the one that we know."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import plotly.graph_objects as go
import pytest
from playwright.sync_api import Browser
from plotly.offline import get_plotlyjs, get_plotlyjs_version

from ibench_lib.publish import plotly_js
from ibench_lib.publish.plotly_js import KINDS, SHA256, VERSION, library, part_path
from ibench_lib.show.kit.chart_text import PLOTLY_MIME
from ibench_lib.show.kit.look import look
from tests.publish.browsing import open_page
from tests.publish.posting import unpacked
from tests.publish.saving import page_with

PART = "part of it"


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An environment of its own, in which PART is the part that we know; the path where it would lie."""
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setattr(plotly_js, "SHA256", hashlib.sha256(PART.encode()).hexdigest())
    path = part_path()
    assert path.is_relative_to(tmp_path)
    path.parent.mkdir(parents=True)
    yield path
    plotly_js._part.cache_clear()


def test_the_part_is_for_charts_that_it_can_draw(environment: Path) -> None:
    environment.write_text(PART)
    assert library({"scatter", "heatmap"}).code == PART
    assert library({"scatter", "scatter3d"}).code == get_plotlyjs()


def test_without_the_part_pages_have_all(environment: Path) -> None:
    assert library({"scatter"}).code == get_plotlyjs()


def test_another_file_in_its_place_gets_into_no_page(environment: Path) -> None:
    environment.write_text(PART + " and more")
    assert library({"scatter"}).code == get_plotlyjs()


def test_the_part_of_another_version_is_not_used(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plotly_js, "get_plotlyjs_version", lambda: "4.0.0")
    environment.write_text(PART)
    assert library({"scatter"}).code == get_plotlyjs()


def test_the_part_is_of_the_version_that_makes_the_charts() -> None:
    assert get_plotlyjs_version() == VERSION, "update VERSION and SHA256, and PLOTLY_SHA256 in tools/provide.py"


@pytest.mark.lake
def test_the_part_draws_what_it_says(tmp_path: Path, browser: Browser) -> None:
    if not part_path().exists():
        pytest.skip("this environment does not have the part: `make plotly`")
    assert hashlib.sha256(part_path().read_bytes()).hexdigest() == SHA256
    shown = page_of([go.Scatter(y=list(range(400))), go.Heatmap(z=[[1, 2], [3, 4]])], tmp_path)
    assert b"plotly.js (cartesian" in unpacked(shown)
    opened = open_page(browser, shown, 1280)
    opened.page.wait_for_selector(".main-svg .trace")
    assert opened.complaints == []
    assert set(opened.page.evaluate("Object.keys(Plotly.PlotSchema.get().traces)")) == KINDS


@pytest.mark.lake
def test_a_figure_that_the_part_cannot_draw_is_drawn_by_all_of_plotly(tmp_path: Path, browser: Browser) -> None:
    shown = page_of([go.Scatterpolar(r=list(range(400)), theta=list(range(400)))], tmp_path)
    assert b"plotly.js (cartesian" not in unpacked(shown)
    opened = open_page(browser, shown, 1280)
    opened.page.wait_for_selector(".main-svg .polar .trace")
    assert opened.complaints == []


def page_of(traces: list[object], folder: Path) -> Path:
    """A page with a chart of these traces."""
    figure = go.Figure(traces, look("A figure of one's own"))
    return page_with([{PLOTLY_MIME: figure.to_plotly_json()}], folder)
