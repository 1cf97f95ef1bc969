"""Pages in headless Chromium without a network: opened, scrolled through, read, held against axe-core."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page

from ibench_lib import paths
from tests.waiting import PATIENCE_S
from tools.provide import AXE_FOLDER

PAPER_PX = 703
"""The width of A4 less the margins of post.css."""

UNNAMED_TABLE = "table:not(:has(caption), figure:has(> figcaption) table)"
"""A table that neither a caption nor that of the figure which it is names."""


@dataclass
class Opened:
    """A page in a browser without a network, scrolled through once, with all that it asked for."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def new_context(browser: Browser, **options: Any) -> BrowserContext:
    """A context that waits as patiently as all tests do: playwright's own limit is 30 s."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE_S * 1e3)
    return context


def open_page(browser: Browser, path: Path, width: int = 1280, fragment: str = "", **options: Any) -> Opened:
    """Open a file; `options` are those of a browser context."""
    context = new_context(browser, viewport={"width": width, "height": 900}, offline=True, **options)
    opened = Opened(context.new_page())
    opened.page.on("request", lambda request: opened.requests.append(request.url))
    opened.page.on("console", lambda message: opened.complaints.append(message.text))
    opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.page.goto(path.as_uri() + fragment)
    return opened


def open_post(browser: Browser, path: Path, width: int = 1280) -> Opened:
    """Open a post and scroll until all of its charts are drawn, but for those in folds that are closed."""
    opened = open_page(browser, path, width)
    height = int(opened.page.evaluate("document.documentElement.scrollHeight"))
    for top in range(0, height + 900, 700):
        opened.page.evaluate("top => window.scrollTo({top, behavior: 'instant'})", top)
        opened.page.wait_for_timeout(30)
    # A browser that is short of time may not look between two turns of the wheel; a reader stays where he looks. Not
    # wait_for_function: what that looks at again and again is a script, which the page's policy refuses.
    for chart in opened.page.locator("figure.chart:not(details:not([open]) *)").all():
        if not chart.locator(".main-svg").count():
            chart.scroll_into_view_if_needed()
            chart.locator(".main-svg").first.wait_for(state="attached")
    return opened


def table_rows(page: Page, caption: str) -> dict[str, list[str]]:
    """Row head -> cells of the table with that caption."""
    table = page.locator("table", has=page.locator("caption", has_text=caption)).first
    rows = table.locator("tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('th, td')].map(cell => cell.textContent.trim()))"
    )
    return {row[0]: row[1:] for row in rows}


def sentences(page: Page, section: str) -> list[str]:
    """What a section says before its tables, without the links."""
    found = page.locator(f"#{section} .statements li").all()
    return [re.sub(r"\s*(query|queries( \d)+)$", "", text.inner_text()) for text in found]


def serious_violations(page: Page) -> list[str]:
    """What axe-core finds in the page that is serious or critical, each with the first element that it is about.

    Contrast is looked at on a dark screen, too.
    """
    script = paths.workspace().build_dir(AXE_FOLDER) / "axe.min.js"
    assert script.is_file(), "no axe-core here; `make test` brings it"
    # The page's policy lets no script be added to it; the debugger's are not subject to it.
    page.evaluate(script.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate("axe.run(document, {runOnly: ['color-contrast'], resultTypes: ['violations']})")
    page.emulate_media(color_scheme="light")
    assert found["passes"], "axe-core has looked at nothing"
    return [
        f"{item['impact']} {item['id']}: {item['help']}: {item['nodes'][0]['html']:.200}"
        for item in [*found["violations"], *dark["violations"]]
        if item["impact"] in ("serious", "critical")
    ]


_PLACED = """() => {
  const clips = new Map(), found = [], outside = [];
  const wide = document.documentElement.clientWidth;
  function clip(element) { // the part of the page in which what is in an element can be seen; null: nowhere
    if (!element || element === document.documentElement) return [-1e6, -1e6, 1e6, 1e6];
    if (clips.has(element)) return clips.get(element);
    const style = getComputedStyle(element);
    let seen = style.visibility === "hidden" || style.clipPath !== "none" ? null : clip(element.parentElement);
    if (seen && style.overflow !== "visible" && element.tagName !== "BODY" && style.display !== "inline") {
      const box = element.getBoundingClientRect();
      seen = [
        Math.max(seen[0], box.left), Math.max(seen[1], box.top),
        Math.min(seen[2], box.right), Math.min(seen[3], box.bottom)
      ];
    }
    clips.set(element, seen);
    return seen;
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (walker.nextNode()) {
    const node = walker.currentNode, text = node.data.trim(), seen = text && clip(node.parentElement);
    if (!seen || node.parentElement.closest("script, style, title, .skip, option, noscript")) continue;
    if (!node.parentElement.checkVisibility()) continue; // in a fold that is closed; on paper all of them are open
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      const [left, top, right, bottom] = [
        Math.max(box.left, seen[0]), Math.max(box.top, seen[1]),
        Math.min(box.right, seen[2]), Math.min(box.bottom, seen[3])
      ];
      if (right - left < 1 || bottom - top < 1) continue;
      if (left < -1 || right > wide + 1) outside.push(text.slice(0, 60));
      found.push({text: text.slice(0, 60), left, top, right, bottom, node});
    }
  }
  found.sort((a, b) => a.top - b.top);
  const overlaps = [];
  found.forEach((one, place) => {
    for (let next = place + 1; next < found.length && found[next].top < one.bottom; next++) {
      const other = found[next];
      if (other.node === one.node) continue;
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = one.bottom - other.top, lower = Math.min(one.bottom - one.top, other.bottom - other.top);
      // A line's box is a third higher than its letters.
      if (across > 1 && Math.min(down, lower) > 0.35 * lower) overlaps.push(`${one.text} | ${other.text}`);
    }
  });
  return {texts: found.length, outside, overlaps};
}"""


def misplaced(page: Page) -> list[str]:
    """Each text that can be seen and lies on another one, or reaches outside of the page."""
    found = page.evaluate(_PLACED)
    assert found["texts"], "the page shows no text"
    return [f"outside: {text}" for text in found["outside"]] + [f"on each other: {pair}" for pair in found["overlaps"]]


def print_on_paper(page: Page) -> None:
    """The page as it is printed on A4, whatever the width of its window was."""
    page.wait_for_selector("body[data-unpacked], body:not(:has(figure.chart))")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")  # a browser lays the page out after it
    page.emulate_media(media="print")
    page.set_viewport_size({"width": PAPER_PX, "height": 1000})


def first_chart_px(page: Page) -> float | None:
    """Where the first chart begins, from the top of the page; None without charts."""
    found: float | None = page.evaluate("""() => {
      const tops = [...document.querySelectorAll("figure")].map(figure => figure.getBoundingClientRect())
        .filter(box => box.width && box.height).map(box => box.top + scrollY);
      return tops.length ? Math.min(...tops) : null;
    }""")
    return found
