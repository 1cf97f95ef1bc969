"""One crosshair for the charts of a step: where it stands, what is read of them there, and by which keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from ibench_lib.show.kit.chart_text import PLOTLY_MIME
from ibench_lib.show.kit.look import look
from ibench_lib.show.kit.pictures import MOST_POINTS
from ibench_lib.show.kit.pieces import Html, OnTime, RateOverTime
from tests.publish.browsing import Opened, open_page, serious_violations
from tests.publish.saving import page_with

STEP = "l.i1, cached"


def picture(name: str, first: float, group: str = STEP) -> RateOverTime:
    """A rate that grows by 1 a second for 20 s."""
    points = tuple((second + 0.5, first + second) for second in range(20))
    drawn = tuple((46 + 15 * second, 90 - rate / 10) for second, rate in points)
    time = OnTime(group, 0.0, 20.0, (("inserts/s", name, points),))
    return RateOverTime(name, name, (346, 106), drawn, "line-1", (), "bad", ((46, 346, 90, False),), (), 46, time)


def buckets() -> dict[str, Any]:
    """Two repeats of a result in buckets of 40 s up to 16,000 s, without those from 8,000 to 8,400 s."""
    starts = [40 * at for at in range(MOST_POINTS + 100) if not 8000 <= 40 * at < 8400]
    lines = [
        {
            "type": "scatter", "mode": "lines", "x": starts, "y": [x + repeat for x in starts], "name": "a",
            "hovertemplate": f"a r{repeat}: %{{y}}<extra></extra>",
        }
        for repeat in (1, 2)
    ]  # fmt: skip
    layout = look("Dead rows", x="seconds of the step", time="l.i2, cached", what="dead rows", lasts_s=40.0)
    return {PLOTLY_MIME: {"data": lines, "layout": {**layout, "height": 200, "xaxis": {"range": [0, 20000]}}}}


def chart() -> dict[str, Any]:
    """A chart that needs zoom: a strong line, a pale one, and one that only frames another."""
    seconds = [at / 20 for at in range(MOST_POINTS + 101)]
    lines = [
        {"type": "scatter", "mode": "lines", "x": seconds, "y": [7 * x for x in seconds], "name": "a &lt;r1>", **more}
        for more in ({}, {"opacity": 0.4, "name": "pale"}, {"meta": "aside", "name": "client 1"})
    ]
    layout = look("Worst", x="seconds of the step", time=STEP, what="max insert response (ms)")
    return {PLOTLY_MIME: {"data": lines, "layout": {**layout, "height": 200}}}


@pytest.fixture
def opened(tmp_path: Path, browser: Browser) -> Opened:
    other = picture("other", 1000, "l.x, cached")
    found = open_page(browser, page_with([Html(picture("a r1", 10), picture("b r1", 500), other), chart()], tmp_path))
    found.page.locator(".main-svg").first.wait_for(state="attached")
    return found


def move_to(page: Page, share: float, said: str) -> None:
    box = page.locator(".time").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + share * box["width"], box["y"] + 50)
    page.locator(".second", has_text=said).wait_for()


def test_it_stands_at_one_second_in_all_charts_of_a_step(opened: Opened) -> None:
    page = opened.page
    move_to(page, 0.525, "10.5 s of")
    assert page.locator(".second").inner_text() == (
        "10.5 s of l.i1, cached; inserts/s: a r1 20, b r1 510; max insert response (ms): a <r1> 73.5"
    )
    crosses = page.locator(".cross").evaluate_all("all => all.map(one => one.closest('figure').dataset.time)")
    assert crosses == [STEP] * 3
    pictures = page.locator(".time .cross").evaluate_all(
        "all => all.map(one => one.offsetLeft / one.parentElement.clientWidth)"
    )
    assert pictures == pytest.approx([0.525, 0.525], abs=0.01)
    move_to(page, 0.125, "2.5 s of")
    assert page.locator(".second").inner_text().startswith("2.5 s of l.i1, cached; inserts/s: a r1 12, b r1 502;")
    page.mouse.move(5, 5)
    page.locator(".second").wait_for(state="hidden")
    assert page.locator(".cross").count() == 0 and opened.complaints == []


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.50199, "10,039.8 s of l.i2, cached; dead rows: a r1 10,000, a r2 10,000"),  # not the next bucket
        (0.50201, "10,040.2 s of l.i2, cached; dead rows: a r1 10,040, a r2 10,040"),
        (0.41, "8,200 s of l.i2, cached"),
        (0.95, "19,000 s of l.i2, cached"),
    ],
)
def test_a_second_has_the_value_of_its_bucket_and_none_where_there_is_none(
    tmp_path: Path, browser: Browser, share: float, said: str
) -> None:
    page = open_page(browser, page_with([buckets()], tmp_path)).page
    page.locator(".main-svg").first.wait_for(state="attached")
    page.evaluate(
        """share => {
          const plot = document.querySelector('.plot'), axis = plot._fullLayout.xaxis;
          const box = plot.getBoundingClientRect();
          plot.dispatchEvent(new PointerEvent('pointermove', {
            bubbles: true, clientX: box.left + axis._offset + share * axis._length, clientY: box.top + 90,
          }));
        }""",
        share,
    )
    page.locator(".second", has_text="s of").wait_for()
    assert page.locator(".second").inner_text() == said


def test_each_panel_of_a_chart_says_what_it_shows(tmp_path: Path, browser: Browser) -> None:
    """On a logarithmic axis too, and without what only frames a line."""
    seconds = [float(at) for at in range(20)]
    common = {"type": "scatter", "mode": "lines", "x": seconds}
    lines = [
        {**common, "y": [100 + x for x in seconds], "name": "inserts", "meta": {"what": "rates (1/s)"}},
        {**common, "y": [100.0] * 20, "name": "half of the median", "hoverinfo": "skip"},
        {**common, "y": [10 + x for x in seconds], "name": "p99", "yaxis": "y2", "meta": {"what": "responses (ms)"}},
    ]
    layout = look("l.i1", x="seconds of the step", time=STEP)
    axes = {"yaxis": {"domain": [0.6, 1]}, "yaxis2": {"domain": [0, 0.4], "type": "log"}, "xaxis": {"range": [0, 20]}}
    page = open_page(
        browser, page_with([{PLOTLY_MIME: {"data": lines, "layout": {**layout, **axes, "height": 300}}}], tmp_path)
    ).page
    page.locator(".main-svg").first.wait_for(state="attached")
    page.locator("figure.chart").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".second").inner_text() == (
        "10 s of l.i1, cached; rates (1/s): inserts 110; responses (ms): p99 20"
    )


def test_keys_move_it_and_escape_ends_it(opened: Opened) -> None:
    page, said = opened.page, opened.page.locator(".second")
    page.locator("figure.over-time").first.focus()
    page.keyboard.press("ArrowRight")
    assert said.inner_text().startswith("10 s of")
    page.keyboard.press("ArrowRight")
    assert said.inner_text().startswith("11 s of")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert said.inner_text().startswith("9 s of") and page.locator(".cross").count() == 3
    assert serious_violations(page) == []
    page.keyboard.press("Escape")
    assert not said.is_visible() and page.locator(".cross").count() == 0
    page.keyboard.press("ArrowRight")
    page.locator(".skip").focus()
    assert not said.is_visible()


def test_a_page_without_time_has_no_script_for_it(tmp_path: Path) -> None:
    assert "One crosshair" not in page_with("<p>x</p>", tmp_path).read_text()
    assert "One crosshair" in page_with(Html(picture("a", 1)), tmp_path).read_text()
