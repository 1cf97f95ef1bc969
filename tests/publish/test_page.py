"""A post in a real browser: offline, complete, inert, readable on a phone, on paper and by a screen reader."""

import base64
import gzip
import json
import re
from datetime import date
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser

from ibench_lib.paths import Workspace
from ibench_lib.publish.page import PageText, _Headings, parted, render
from ibench_lib.show.kit.pieces import TLDR, TLDR_REST, Html
from ibench_lib.show.kit.theme import COLOURS, PALETTES
from tests.publish.browsing import (
    UNNAMED_TABLE,
    Opened,
    new_context,
    open_page,
    open_post,
    print_on_paper,
    sentences,
    serious_violations,
    table_rows,
)
from tests.publish.posting import HOSTILE, SharedKernel, page_of
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake


def test_the_post_asks_for_nothing_and_complains_about_nothing(demo: Path, opened_demo: Opened) -> None:
    assert opened_demo.requests == [demo.as_uri()]
    assert opened_demo.complaints == []
    named = opened_demo.page.evaluate(
        "[...document.querySelectorAll('[src], [href]')].map(e => e.getAttribute('src') || e.getAttribute('href'))"
    )
    inside = ("#", "data:text/csv", "data:application/gzip")
    assert named and all(address == "data:," or address.startswith(inside) for address in named), named


def test_every_chart_is_drawn_with_lines_that_go_somewhere(opened_demo: Opened) -> None:
    page = opened_demo.page
    drawn = page.evaluate(
        """[...document.querySelectorAll('figure:is(.chart, .picture)')].map(chart => [
            chart.querySelector('figcaption').textContent,
            [...chart.querySelectorAll(':is(.trace, .points, .panel) path, .along :is(circle, rect)')]
                .filter(path => path.getBBox().width > 1).length,
        ])"""
    )
    titles = [title for title, _ in drawn]
    assert {"inserts/s, l.i1, cached", "queries/s, qr100, cached", "History list length during l.i1, cached"} <= {
        *titles
    }
    assert "Seconds of get_min, cached" in titles
    assert all(paths > 0 for _, paths in drawn), drawn
    assert page.locator("figure.picture .panel").count() >= 1, "what needs no zoom, plotly does not draw"
    assert page.locator("a[href*='plotly'], .modebar-btn--logo, [data-title*='cloud' i]").count() == 0


def test_charts_take_the_colours_of_the_screen_and_paper_is_light(opened_demo: Opened) -> None:
    page = opened_demo.page
    chart = page.locator("figure.chart").first
    grounds = []
    for options in ({"color_scheme": "dark"}, {"media": "print"}, {"media": "screen", "color_scheme": "light"}):
        page.emulate_media(**options)
        drawn = chart.evaluate(
            "figure => [figure.querySelector('.main-svg').style.background, figure.dataset.drawn,"
            " getComputedStyle(document.body).backgroundColor]"
        )
        grounds.append(drawn)
    light, dark = map(rgb, COLOURS["paper"])
    assert grounds == [[dark, "dark", dark], ["white", "light", light], ["white", "light", light]]


def test_a_name_that_is_also_a_colour_stays_on_a_dark_screen(demo: Path, browser: Browser, tmp_path: Path) -> None:
    def renamed(packed: re.Match[str]) -> str:
        chart = json.loads(gzip.decompress(base64.b64decode(packed[2])))
        chart["data"][0]["name"] = "white"
        return packed[1] + base64.b64encode(gzip.compress(json.dumps(chart).encode())).decode()

    text, changed = re.subn(
        r'(<figure class="chart.*?<script[^>]*>)([^<]+)', renamed, demo.read_text(encoding="utf-8"), count=1, flags=re.S
    )
    assert changed == 1
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    page = new_context(browser, color_scheme="dark").new_page()
    page.goto((tmp_path / "page.html").as_uri())
    chart = page.locator("figure.chart").first
    chart.scroll_into_view_if_needed()
    chart.locator(".main-svg").first.wait_for(state="attached")
    plot = chart.locator(".plot")
    assert plot.evaluate("plot => [plot.data[0].name, plot.layout.paper_bgcolor]") == ["white", COLOURS["paper"][1]]


def test_tables_hold_the_numbers_worked_out_by_hand(opened_demo: Opened) -> None:
    page = opened_demo.page
    assert table_rows(page, "Average throughput, cached") == {
        "system.cy10a (base)": ["2,000", "10,000", "5,000 top", "1,000 top"],
        "system.cy10ap1": ["2,000\n1.00x", "10,000\n1.00x", "5,000 top\n1.00x", "500 bottom\n0.50x below"],
        "system.cy10ap1lag": ["2,000\n1.00x", "10,000\n1.00x", "2,500 bottom\n0.50x below", "1,000 top\n1.00x"],
    }
    assert table_rows(page, "Clients of l.i0, cached")["system.cy10a"] == ["8.0", "10.0", "2.0", "25.0"]
    assert table_rows(page, "Seconds of get_min, cached")["system.cy10ap1"] == ["0.001", "0.001", "0.001", "0.500 slow"]
    assert sentences(page, "purge-lag") == [
        "One run of each: the noise is unknown.",
        "cached, l.i1: the history list at the end is over 1,000 and more than 10x the smallest (300 with "
        "system.cy10a): system.cy10ap1 (30,000).",
    ]
    assert page.locator("#purge-lag .statements a").first.get_attribute("href") == "#evidence.purge_lag_at_step_end"


def test_what_the_runs_warn_of_is_on_the_page(opened_demo: Opened) -> None:
    page = opened_demo.page
    assert page.locator("#builds ul:not(.statements) li").all_inner_texts() == [
        "innodb_io_capacity: asked <1> (p1.cnf:6), the server uses 100 (system.cy10ap1; 1 of 3 runs)"
    ]


def test_the_page_is_built_for_reading(opened_demo: Opened) -> None:
    page = opened_demo.page
    assert page.title() == "Purge lag"
    assert page.locator("h1").all_inner_texts() == ["Purge lag"]
    assert page.locator("#tldr li").all_inner_texts() == ["One bold claim", "and code"]
    assert "A note on purge." in page.locator("#purge-lag .note").inner_text()
    ids = page.evaluate("[...document.querySelectorAll('main [id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert {"throughput", "fairness", "sla", "get-min", "l.i1.one-second", "l.i1.histogram", "l.i1.purge-lag"} <= {*ids}
    order = page.evaluate("[...document.querySelectorAll('main > section')].map(e => e.id)")
    first = page.locator("#start .headline > *").evaluate_all("all => all.map(e => e.id || e.className)")
    # The first statements are that the server ran two configurations as others.
    assert first == ["tested", "badges", "tldr", "statements", "finding", "keyed", "fold", "statements", "ran"]
    assert order == [
        "start", "builds", "benchmark", "configurations", "throughput", "fairness", "sla", "response-time",
        "one-second", "purge-lag", "get-min", "metrics", "devices", "sizes", "evidence",
    ]  # fmt: skip
    links = "[...document.querySelectorAll('a[href^=\"#\"]')].map(e => e.getAttribute('href').slice(1))"
    for target in page.evaluate(links):
        assert target in [*ids, "content"], target
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator(UNNAMED_TABLE).count() == 0
    assert "3 runs of experiment demo" in page.locator("#builds").inner_text()
    assert "Scaled" not in page.locator("#builds").inner_text()


def test_every_table_fits_a_wide_screen_and_a_wide_one_scrolls_by_itself_on_a_phone(
    demo: Path, opened_demo: Opened, browser: Browser
) -> None:
    too_wide = "tables => tables.filter(table => table.scrollWidth > table.clientWidth).length"
    for width in (1280, 390):
        page = opened_demo.page if width == 1280 else open_page(browser, demo, width).page
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert (page.locator("main .table").evaluate_all(too_wide) > 0) is (width == 390)


def test_plotly_is_there_once_and_the_page_is_small_enough(demo: Path) -> None:
    text = demo.read_text(encoding="utf-8")
    assert text.count('id="plotly"') == 1
    assert "* plotly.js " not in text, "it is packed"
    assert len(text.encode()) < 3e6
    root = str(demo.parents[3])
    assert root not in text
    assert root not in demo.with_name("post.ipynb").read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.fault("F23")
@pytest.mark.fault("F24")
def test_f23_f24_hostile_text_is_only_text(hostile: Path, opened_hostile: Opened) -> None:
    page = opened_hostile.page
    assert opened_hostile.requests == [hostile.as_uri()]
    assert opened_hostile.complaints == []
    assert page.evaluate("window.hit") is None
    assert page.title() == page.locator("h1").inner_text() == HOSTILE
    assert page.locator("img, iframe, object, embed, [onerror], [onclick]").count() == 0
    assert page.evaluate("[...document.querySelectorAll('script:not([type])')].length") == 3
    assert page.locator("svg a, svg script, foreignObject").count() == 0
    assert page.locator("head title").count() == 1
    for place in ("#tldr", "#builds .note", "#builds table", ".byline", "#throughput caption"):
        assert "<script>" in page.locator(place).first.text_content(), place
    assert any(HOSTILE in text for text in page.locator("figure.chart svg").all_text_contents())
    assert any(HOSTILE in text for text in page.locator("figure.picture").all_text_contents())


@pytest.mark.long
def test_a_failed_run_is_visible_and_its_scale_too(opened_hostile: Opened) -> None:
    page = opened_hostile.page
    builds = page.locator("#builds").inner_text()
    assert "1 of 3 runs did not complete (failed)" in builds
    assert "Scaled: rows, durations and server memory are 1/500 and 1" in builds
    assert table_rows(page, "Average throughput")["broken"][2:4] == ["failed", "not run"]
    assert "step failed" in page.locator("#builds").inner_text()


@pytest.mark.long
def test_an_empty_lake_gives_a_post_of_clear_sentences(
    place: Workspace, kernel: SharedKernel, browser: Browser
) -> None:
    page = open_post(browser, page_of(kernel, place)).page
    assert "no run of this experiment" in page.locator("#builds").inner_text()
    assert page.locator("figure, .grid td:not([class])").count() == 0
    for section in ("throughput", "fairness", "sla", "one-second", "purge-lag", "get-min"):
        assert page.locator(f"#{section} .said").count() >= 1, section


def test_axe_core_does_find_what_is_wrong(tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "bad.html"
    path.write_text("<html><body><img src=''><p style='color:#eee'>x</p></body></html>")
    assert len(serious_violations(open_page(browser, path).page)) >= 2


def test_every_chart_is_told_in_words(opened_demo: Opened) -> None:
    page = opened_demo.page
    for chart in page.locator("figure:is(.chart, .picture)").all():
        plot = chart.locator("[role=group]")
        assert plot.get_attribute("aria-label") == chart.locator("figcaption").inner_text()
        words = page.locator(f"[id='{plot.get_attribute('aria-describedby')}']").text_content()
        assert words and re.search(r"chart\. .*: \d+ points?, ", words), words
    lag = page.locator("figure", has_text="History list length during l.i1").locator(".alt").text_content()
    assert lag == (
        "Line chart. Horizontally: seconds of the step. Vertically: history list length. "
        "system.cy10a: 10 points, 300. system.cy10ap1: 10 points, 30,000. system.cy10ap1lag: 20 points, 300."
    )


def test_tables_and_charts_lead_to_their_sql_and_data(opened_demo: Opened) -> None:
    page = opened_demo.page
    links = page.locator("main section").evaluate_all(
        "all => Object.fromEntries(all.map(s => [s.id, [...s.querySelectorAll('p.source a')].map(a => a.textContent)]))"
    )
    assert links["throughput"] == ["SQL and data: step_throughput"]
    assert links["sla"] == ["SQL and data: sla"]
    at_end = "SQL and data: purge_lag_at_step_end"
    assert links["purge-lag"] == [at_end, at_end, "SQL and data: purge_lag_series"]
    assert page.locator("#sla p.source a").get_attribute("href") == "#evidence.sla"


def test_without_javascript_the_words_stand_in_for_the_charts(demo: Path, browser: Browser) -> None:
    page = open_page(browser, demo, java_script_enabled=False).page
    words = page.locator("figure.chart .alt").first
    assert (words.bounding_box() or {"height": 0})["height"] > 10
    assert page.locator("figure.picture svg").first.is_visible()
    assert (page.locator("figure.picture .alt").first.bounding_box() or {"height": 9})["height"] < 2, "it is drawn"
    assert page.locator("table caption").first.is_visible()


def test_an_old_browser_gets_the_words(demo: Path, browser: Browser) -> None:
    context = new_context(browser, offline=True)
    context.add_init_script("delete window.DecompressionStream")
    page = context.new_page()
    page.goto(demo.as_uri())
    assert (page.locator("figure.chart .alt").first.bounding_box() or {"height": 0})["height"] > 10


def test_a_page_without_a_chart_does_not_carry_their_library(place: Workspace, kernel: SharedKernel) -> None:
    """The compressed library alone has 1.9 MB; the rest of such a page is mostly the SQL behind it."""
    assert page_of(kernel, place).stat().st_size < 500_000


@pytest.mark.long
def test_the_keyboard_reaches_links_tables_and_folded_parts(demo: Path, browser: Browser) -> None:
    page = open_page(browser, demo).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = set()
    for _ in range(400):
        page.keyboard.press("Tab")
        at, is_last = page.evaluate(
            "(e => [e.tagName + '.' + e.className, e.closest('#evidence-questions') !== null])(document.activeElement)"
        )
        reached.add(at)
        if is_last:
            break
    assert {"A.", "SUMMARY.", "DIV.table", "A.self"} <= reached
    page.keyboard.press("Enter")
    assert page.evaluate("document.getElementById('evidence-questions').open")


@pytest.mark.long
def test_on_paper_every_chart_is_there_and_nothing_is_cut(demo: Path, browser: Browser, tmp_path: Path) -> None:
    page = open_page(browser, demo).page  # not scrolled: most charts are not drawn yet
    print_on_paper(page)
    cut = page.evaluate(
        """[...document.querySelectorAll('figure.chart')].filter(chart => {
            const drawn = chart.querySelector('.main-svg');
            return !drawn || drawn.getBoundingClientRect().right > 703 || drawn.getBoundingClientRect().width < 300;
        }).map(chart => chart.id)"""
    )
    assert cut == []
    tables = "[...document.querySelectorAll('main table')].filter(t => t.offsetWidth > 703).map(t => t.innerText)"
    assert page.evaluate(tables) == []
    assert not page.locator("nav").is_visible()
    assert page.locator("#evidence-runs table").is_visible()
    assert page.locator("#sizes .fold table").first.is_visible(), "what is folded on a screen"
    assert not page.locator("#evidence-questions").is_visible()
    assert page.pdf(format="A4").count(b"/Type /Page\n") >= 5


@pytest.mark.long
@pytest.mark.parametrize("palette", ["default", "classic"])
def test_a_palette_reaches_every_table(place: Workspace, kernel: SharedKernel, browser: Browser, palette: str) -> None:
    write_runs(
        place,
        *(
            Run(config, repeat=n, minute=10 * at + n, queries=queries + 10 * n)
            for at, (config, queries) in enumerate((("cy10a", 5000), ("slow", 2500), ("fast", 9000)))
            for n in (1, 2, 3)
        ),
    )
    page = open_page(browser, page_of(kernel, place, palette=palette)).page
    shown = page.evaluate(
        """[...document.querySelectorAll('main .table td')].map(cell => [
            cell.textContent.split(" ").pop(), getComputedStyle(cell).backgroundColor, getComputedStyle(cell).color
        ])"""
    )
    colours = PALETTES[palette]
    for word, mark in (("faster", colours.of("good")), ("slower", colours.of("bad"))):
        found = {(fill, ink) for last, fill, ink in shown if last == word}
        assert found == {(rgb(mark[0]), rgb(mark[1]))}, word


def rgb(colour: str) -> str:
    return f"rgb({int(colour[1:3], 16)}, {int(colour[3:5], 16)}, {int(colour[5:7], 16)})"


def test_a_long_tldr_goes_on_below_the_first_picture() -> None:
    bullets = [f"bullet {number} {'word ' * 38}" for number in range(4)]
    assert parted(bullets) == (bullets[:2], bullets[2:])
    assert parted([bullets[0] * 9, "x"]) == ([bullets[0] * 9], ["x"]), "the first stands above, however long it is"
    assert parted(bullets[0] * 9) == (bullets[0] * 9, []), "a text is not parted"
    for rest, order in (([TLDR_REST], "0 1 figure 2 3"), ([], "0 1 2 3 figure")):
        shown = nbformat.v4.new_output("display_data", data=Html(TLDR, "<figure></figure>", *rest).bundle)
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", outputs=[shown])])
        page = render(notebook, PageText("Title", "Author", date(2026, 11, 21), bullets, {})).decode()
        found = re.findall(r"bullet (\d)|<(figure)>", page[page.index("<main") :])
        assert " ".join("".join(one) for one in found) == order


def test_a_table_of_contents_has_the_names_of_steps_without_words() -> None:
    found = _Headings()
    found.feed(
        '<h3 id="x"><span class="words">Range queries · </span><span class="code">qr100</span></h3><h3 id="y">z</h3>'
    )
    assert found.found == [("x", "qr100"), ("y", "z")]
