"""Pages of lakes of all sizes: nothing lies on anything else or outside of page and paper, a chart comes early."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from ibench_lib.importers.intake import import_file
from ibench_lib.paths import Workspace
from tests.publish.browsing import first_chart_px, misplaced, open_post, print_on_paper, serious_violations
from tests.publish.posting import SharedKernel, page_of, with_notebook
from tests.synthetic import Run, write_runs

pytestmark = [pytest.mark.lake, pytest.mark.long]

FIRST_CHART_PX = {1280: 800, 390: 1000}
"""By the width of the page, where its first chart begins at the latest."""


def lake(results: int, repeats: int, setups: int = 1, name: str = "c{}", **others: object) -> list[Run]:
    """Runs of so many configurations, the faster the later; of every third one queries are as fast as the base's."""
    return [
        Run(
            name.format(result), setup=f"s{setup}", repeat=repeat, minute=repeat, rank=result,
            queries=(5000 + 400 * (result if result % 3 else 0)) * setup + 10 * repeat, **others,  # type: ignore[arg-type]
        )
        for setup in range(1, setups + 1)
        for result in range(results)
        for repeat in range(1, repeats + 1)
    ]  # fmt: skip


def failed(runs: list[Run]) -> list[Run]:
    return [replace(run, status="failed", failed_step="l.i0", error="lost", steps=("l.i0",)) for run in runs]


TLDR = [f"Finding {number} is said in full, and takes as many as {'thirty words ' * 9}here." for number in range(8)]
"""Four times as long as an author should make it."""

WITH_LONG_TLDR = {"fifteen-results-of-three-setups", "measured-and-published"}

LONG_NAME = "a_configuration_whose_name_has_as_many_as_sixty_characters_{}"

CASES: dict[str, list[Run]] = {
    "one-result": lake(1, 1),
    "two-results-of-four-setups": lake(2, 3, 4, LONG_NAME),
    "seven-results": lake(7, 3),
    "fifteen-results-of-three-setups": lake(15, 1, 3),
    "forty-results": lake(40, 1),
    "nothing-measured": failed(lake(2, 1)),
    "all-steps-short": lake(2, 3, short=True),
    "measured-and-published": lake(2, 3, name="m{}"),
}
PUBLISHED = f"""\
step,dbms,ips,qps,setup
l.i1,mysql-8.0.{"x" * 40},9000,,s1
l.i1,mysql-5.7.base,4000,,s1
qr100,mysql-8.0.{"x" * 40},,1000,s1
qr100,mysql-5.7.base,,1100,s1
"""
"""What others have published; a case whose name begins as that of its experiment has these as well."""

NAMES_STAY = """() => [...document.querySelectorAll(".table")]
  .filter(table => table.scrollWidth > table.clientWidth + 1 && table.querySelector("tbody .grid-name")).map(table => {
    table.scrollLeft = table.scrollWidth;
    const name = table.querySelector("tbody .grid-name").getBoundingClientRect(), box = table.getBoundingClientRect();
    const stays = name.left >= box.left - 1 && name.right <= box.left + 0.6 * box.width;
    table.scrollLeft = 0;
    return stays ? "" : table.querySelector("caption").textContent;
  }).filter(Boolean)"""
WITHOUT_CHART = {"nothing-measured", "all-steps-short"}
"""Where there is nothing to draw on the first screen."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    workspace = with_notebook(tmp_path_factory.mktemp("cases"))
    for place, (case, runs) in enumerate(CASES.items()):
        # A run's id has its configuration and its minute.
        write_runs(workspace, *(replace(run, experiment=case, minute=3 * place + run.repeat) for run in runs))
    table = workspace.root / "published.csv"
    table.write_text(PUBLISHED)
    import_file(table, "measured-and-published-by-others", "a report", workspace, importer="published")
    return workspace


@pytest.mark.parametrize("case", CASES)
def test_a_page_is_in_order_at_both_widths(case: str, home: Workspace, kernel: SharedKernel, browser: Browser) -> None:
    tldr = TLDR if case in WITH_LONG_TLDR else ""
    path = page_of(kernel, home, tldr=tldr, experiment=f"{case}*", steps=["l.i1", "qr100"], points=50)
    for width, limit in FIRST_CHART_PX.items():
        page = open_post(browser, path, width).page
        page.evaluate("window.scrollTo({top: 0, behavior: 'instant'})")
        assert misplaced(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(NAMES_STAY) == [], "a table that scrolls keeps the names of its rows in sight"
        first = first_chart_px(page)
        if case in WITHOUT_CHART:
            assert page.locator(".headline figure").count() == 0
        else:
            assert first is not None and first <= limit
    assert serious_violations(page) == []  # before all charts are drawn: axe takes minutes with a hundred of them
    print_on_paper(page)
    assert misplaced(page) == [], "printed from a narrow window"


def test_texts_on_each_other_and_outside_are_seen(browser: Browser, tmp_path: Path) -> None:
    """That the checks above can fail."""
    page_with = "<p style='width: 50rem; white-space: nowrap'>{}</p><p style='margin-top: {}'>second</p>"
    path = tmp_path / "page.html"
    path.write_text(page_with.format("first " * 12, "-2.2em"))
    assert misplaced(open_post(browser, path, 1280).page) == [f"on each other: second | {('first ' * 12)[:60]}"]
    assert misplaced(open_post(browser, path, 390).page)[0].startswith("outside: first")
    path.write_text(page_with.format("first", "1em"))
    assert misplaced(open_post(browser, path, 1280).page) == []
