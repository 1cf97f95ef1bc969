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
    """Open a post and scroll until all of its charts are drawn."""
    opened = open_page(browser, path, width)
    height = int(opened.page.evaluate("document.documentElement.scrollHeight"))
    for top in range(0, height + 900, 700):
        opened.page.evaluate("top => window.scrollTo({top, behavior: 'instant'})", top)
        opened.page.wait_for_timeout(30)
    # A browser that is short of time may not look between two turns of the wheel; a reader stays where he looks. Not
    # wait_for_function: what that looks at again and again is a script, which the page's policy refuses.
    for chart in opened.page.locator("figure.chart").all():
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
    return [re.sub(r"(\s*query)+$", "", text.inner_text()) for text in found]


def serious_violations(page: Page) -> list[str]:
    """What axe-core finds in the page that is serious or critical, each with the first element that it is about."""
    script = paths.workspace().build_dir(AXE_FOLDER) / "axe.min.js"
    assert script.is_file(), "no axe-core here; `make test` brings it"
    # The page's policy lets no script be added to it; the debugger's are not subject to it.
    page.evaluate(script.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert found["passes"], "axe-core has looked at nothing"
    return [
        f"{item['impact']} {item['id']}: {item['help']}: {item['nodes'][0]['html']:.200}"
        for item in found["violations"]
        if item["impact"] in ("serious", "critical")
    ]
