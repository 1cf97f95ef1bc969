"""Flame graphs in a real browser: offline, by keyboard, searched, as large as they may be."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from ibench_lib.analysis.flame.sides import Recording, Side
from ibench_lib.analysis.flame.trie import MOST_NODES
from ibench_lib.show.flame.graph import Graph, files, functions_table, graph_of, links, markup
from tests.publish.browsing import Opened, new_context, open_page, serious_violations
from tests.publish.saving import page_with
from tests.show.profiled import COPY, INSERT, PARSE, PURGE, SEND, STACKS

MORE = {
    PARSE: 100,
    INSERT: 160,
    PURGE: 10,
    SEND: 10,
    "mariadbd;start_thread;handle_one_connection;row_ins;row_ins_clust;row_ins": 20,
}


def side(name: str, stacks: dict[str, int], us: float) -> Side:
    samples = sum(stacks.values())
    return Side(f"{name}, 2026-11-22", name, (Recording("r", 1, us / samples, stacks),), 50.0, 4.0)


A, B = side("a", STACKS, 200.0), side("b", MORE, 300.0)


def large(seed: int) -> Side:
    """Far more functions than a graph may have nodes, in stacks 30 to 60 deep, with names as long as C++ has."""
    draw, stacks = random.Random(seed), Counter[str]()
    paths = [["start_thread", "handle_one_connection"]]
    while len(paths) < 25_000:
        path = draw.choice(paths[-3000:])
        if len(path) < 60:
            paths.append(
                [
                    *path,
                    f"space{draw.randint(1, 30)}::Class{draw.randint(1, 400)}<int>::function_{draw.randint(1, 3000)}",
                ]
            )
    for path in paths:
        stacks[";".join(["mariadbd", *path])] += draw.randint(1, 9)
    return side(f"large{seed}", dict(stacks), 321.0)


def page_of(graph: Graph, folder: Path) -> Path:
    table = ["<details class='fold'><summary>Table</summary>", functions_table(graph).html(), "</details>"]
    return page_with([markup(graph), *table, links(files(graph, "l.i0"))], folder)


@pytest.fixture
def opened(tmp_path: Path, browser: Browser) -> Opened:
    found = open_page(browser, page_of(graph_of([A, B], "l.i0, cached"), tmp_path))
    found.page.wait_for_selector("figure.flame[data-drawn]")
    return found


def names(page: Page) -> list[str]:
    found: list[str] = page.locator("[role=treeitem]").evaluate_all(
        "all => all.map(one => one.node.caller ? one.ariaLabel.split(':')[0] : 'all')"
    )
    return found


def at(page: Page) -> str:
    """The function that has the focus."""
    return str(page.evaluate("document.activeElement.ariaLabel")).rpartition(": A")[0]


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.ariaLabel")).partition(":")[0]


def test_a_function_is_as_wide_as_its_part_of_the_larger_side(opened: Opened) -> None:
    def widths(shown: str) -> dict[str, float]:
        opened.page.get_by_label("Width:").select_option(shown)
        found: list[tuple[str, float]] = opened.page.locator("[role=treeitem]").evaluate_all(
            "all => all.map(one => [one.ariaLabel.split(': A')[0], parseFloat(one.style.width)])"
        )
        return dict(found)

    a, b, more, less = (widths(shown) for shown in ("A", "B", "more", "less"))
    assert (a["all"], b["all"]) == pytest.approx((66.7, 100.0), abs=0.1)
    assert a["MYSQLparse"] == b["MYSQLparse"] == pytest.approx(33.3, abs=0.1)
    assert "memcpy" in a and "memcpy" not in b and "memcpy" in less and "memcpy" not in more
    boxes = "all => all.map(one => one.getBoundingClientRect().right)"
    rights = opened.page.locator("[role=treeitem]").evaluate_all(boxes)
    assert max(rights) <= rights[0] + 0.01, "no function is wider than all of them"
    # 100 + 20 more of 300, and 20 less: both are drawn as parts of the larger change.
    assert (more["all"], less["all"]) == pytest.approx((100.0, 100 * 20 / 120), abs=0.1)
    assert opened.complaints == [] and len(opened.requests) == 1


def test_it_can_be_walked_through_and_zoomed_by_keyboard(opened: Opened) -> None:
    page = opened.page
    page.locator("[role=treeitem][tabindex='0']").focus()
    assert page.locator("[role=treeitem][tabindex='0']").count() == 1
    assert at(page) == "all"
    walked = []
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        walked.append(at(page))
    down = ["connections", "start_thread", "handle_one_connection", "do_command"]
    assert walked == [*down, "row_ins", "MYSQLparse", "row_ins", "do_command"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert at(page) == "row_ins"
    assert names(page) == [
        "all",
        "connections",
        "start_thread",
        "handle_one_connection",
        "do_command",
        "row_ins",
        "btr_cur_insert",
    ]
    assert page.get_by_role("button", name="Show everything").is_visible()
    page.keyboard.press("Escape")
    assert at(page) == "row_ins" and "MYSQLparse" in names(page)
    assert page.locator("[role=treeitem][tabindex='0']").count() == 1
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"


def test_a_search_counts_overlaps_once(opened: Opened) -> None:
    page = opened.page
    page.get_by_label("Search functions").fill("ROW_INS")
    # Of B 160 in row_ins below do_command, and 20 in the row_ins that reaches row_ins again.
    assert (
        page.locator(".hits").inner_text()
        == "Found: A 80 us/op (40.0 %, 80 samples); B 180 us/op (60.0 %, 180 samples)"
    )
    assert page.locator(".fn.hit").count() == 4
    page.keyboard.press("Enter")
    assert at(page) == "row_ins"
    page.get_by_label("Search functions").fill("nothing like it")
    assert page.locator(".hits").inner_text() == "Found: A 0 us/op (0.0 %, 0 samples); B 0 us/op (0.0 %, 0 samples)"
    page.get_by_label("Search functions").press("Escape")
    assert page.locator(".hits").inner_text() == "" and page.locator(".fn.hit").count() == 0


def test_reversed_and_by_thread_group_nothing_is_lost(opened: Opened) -> None:
    page = opened.page

    def root() -> str:
        return str(page.locator("[role=treeitem]").first.get_attribute("aria-label")).partition("; change")[0]

    everything = root()
    page.get_by_label("Order:").select_option("callees")
    assert root() == everything
    level = page.locator("[role=treeitem][aria-level='2']").evaluate_all(
        "all => all.map(one => one.ariaLabel.split(': A')[0])"
    )
    assert set(level) == {"btr_cur_insert", "MYSQLparse", "row_ins", "row_purge", "tcp_sendmsg"}
    page.get_by_label("Threads:").select_option(label="all together")
    assert root() == everything
    page.get_by_label("Order:").select_option("callers")
    assert root() == everything and "connections" not in names(page)
    page.get_by_label("Threads:").select_option(label="purge")
    assert root() == "all: A 10 us/op (100.0 %, 10 samples); B 10 us/op (100.0 %, 10 samples)"


def test_it_is_accessible_at_both_widths(opened: Opened) -> None:
    for width in (1280, 390):
        opened.page.set_viewport_size({"width": width, "height": 900})
        opened.page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
        assert opened.page.evaluate("document.documentElement.scrollWidth") == width
        assert serious_violations(opened.page) == []


def test_without_scripts_and_on_paper_the_table_stands(tmp_path: Path, browser: Browser) -> None:
    path = page_of(graph_of([A, B], "l.i0, cached"), tmp_path)
    page = new_context(browser, java_script_enabled=False, offline=True).new_page()
    page.goto(path.as_uri())
    page.locator("summary", has_text=re.compile("^Table$")).click()
    assert page.locator("th", has_text="MYSQLparse").is_visible()
    paper = open_page(browser, path, 703).page
    paper.wait_for_selector("figure.flame[data-drawn]")
    paper.emulate_media(media="print")
    assert paper.locator("th", has_text="MYSQLparse").is_visible()
    assert paper.locator(".fn", has_text="MYSQLparse").is_visible() and not paper.locator(".bar").is_visible()


def test_on_paper_names_stand_where_a_phone_has_no_room_for_them(tmp_path: Path, browser: Browser) -> None:
    thread = "mariadbd;start_thread;handle_one_connection;do_command"
    stacks = {f"{thread};most": 9_450, f"{thread};narrow": 550}
    graph = graph_of([side("a", stacks, 100.0), side("b", stacks, 100.0)], "l.i0")
    page = open_page(browser, page_of(graph, tmp_path), 390).page
    page.wait_for_selector("figure.flame[data-drawn]")
    narrow = page.locator(".fn", has_text=re.compile("^narrow$"))
    assert narrow.count() == 0 and not page.locator(".flame .paper").is_visible()
    page.get_by_label("Width:").select_option("A")
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert narrow.count() == 1
    assert page.locator(".flame .paper").inner_text().startswith("Drawn: A, a, 2026-11-22.")
    page.emulate_media(media="screen")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert narrow.count() == 0


def test_a_file_is_saved_by_a_click(opened: Opened) -> None:
    with opened.page.expect_download() as waiting:
        opened.page.get_by_text("Save A-a-2026-11-22-l.i0.folded").click()
    assert f"{COPY} 20\n" in Path(waiting.value.path()).read_text()


def test_what_is_too_narrow_for_text_is_drawn_together_and_still_reached(tmp_path: Path, browser: Browser) -> None:
    thread = "mariadbd;start_thread;handle_one_connection;do_command"
    stacks = {f"{thread};wide": 10_000, **{f"{thread};narrow_{n:02}": 10 for n in range(40)}}
    page = open_page(browser, page_of(graph_of([side("a", stacks, 100.0)], "l.i0"), tmp_path)).page
    page.wait_for_selector("figure.flame[data-drawn]")
    assert not any(name.startswith("narrow") for name in names(page))
    assert page.locator(".sliver").count() == 1, "one shape for all of one colour"
    page.get_by_label("Search functions").fill("narrow_2")
    assert page.locator(".sliver.hit").count() == 1
    page.keyboard.press("Enter")
    first = focused(page)
    assert first.startswith("narrow_2")
    page.keyboard.press("ArrowRight")
    second = focused(page)
    assert second.startswith("narrow_") and second != first
    page.keyboard.press("Enter")
    assert focused(page) == names(page)[-1] == second
    page.keyboard.press("Escape")
    assert focused(page) == second
    page.keyboard.press("ArrowLeft")
    assert focused(page) == first
    wide = page.locator("[role=treeitem]", has_text="wide").bounding_box()
    assert wide is not None
    page.mouse.move(wide["x"] + wide["width"] + 30, wide["y"] + 5)
    pointed = page.locator(".told").inner_text().partition(":")[0]
    assert pointed.startswith("narrow_") and pointed != first
    page.mouse.click(wide["x"] + wide["width"] + 30, wide["y"] + 5)
    assert focused(page) == names(page)[-1] == pointed


@pytest.mark.long
def test_the_largest_graph_is_small_enough_and_works(tmp_path: Path, browser: Browser) -> None:
    graph = graph_of([large(1), large(2)], "l.i0, cached")
    assert 0.9 * MOST_NODES < len(graph.trie.names) <= MOST_NODES
    assert graph.trie.totals[0] == [one.samples for one in graph.sides]
    figure = markup(graph).markup
    assert len(figure) + len(links(files(graph, "l.i0"), 10**6 - len(figure)).markup) <= 1_010_000
    assert len(figure) < 400_000
    found = open_page(browser, page_of(graph, tmp_path))
    page = found.page
    page.wait_for_selector("figure.flame[data-drawn]")
    page.locator("[role=treeitem][tabindex='0']").focus()
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    took_ms = page.evaluate(
        """() => {
            const begun = performance.now();
            for (const key of ['ArrowDown', 'Enter', 'Escape', 'ArrowUp'])
                document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
            document.body.offsetHeight;
            return performance.now() - begun;
        }"""
    )
    assert took_ms < 5_000, "a hang; docs/posts.md says how long it takes"
    page.get_by_label("Order:").select_option("callees")
    assert page.locator("[role=treeitem]").first.is_visible()
    assert found.complaints == [] and len(found.requests) == 1
    assert serious_violations(page) == []


def test_the_script_is_there_only_where_a_graph_is(tmp_path: Path) -> None:
    text = page_of(graph_of([A], "l.i0, cached"), tmp_path).read_text()
    assert text.count('<script type="application/gzip">') == 1 and text.count("function flame(") == 1
    assert "function flame(" not in page_with("<p>No graph</p>", tmp_path).read_text()
