"""How far a reader scrolls: the heights of pages, and where their first result and first picture stand.

    python -m benchmarks.page_sizes            measure, write docs/benchmarks/page_sizes.md
    python -m benchmarks.page_sizes --print    print only

Four kinds of posts were measured when the project was first tried by somebody who had not made it; what was found then
is FIRST_CONTACT. Their like is built here: from the sample, and from synthetic lakes (`benchmarks.scale_lake`) of as
many results, of which posts show five steps, as those did. Pages are opened in headless Chromium.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright
from ruamel.yaml import YAML

from benchmarks.performance_page import write_section
from benchmarks.post_speed import linked
from benchmarks.scale_lake import EXPERIMENT, Size, make_lake
from ibench_lib.base.chromium import find_chromium
from ibench_lib.paths import Workspace, workspace
from ibench_lib.publish.post import build_post

WIDE, NARROW = 1280, 390
SCALE, CLIENTS = 0.005, 2
STEPS = ["l.i0", "l.x", "l.i1", "qr100", "qp500"]
TWO_BUILDS = tuple(f"{build}.{config}" for build in ("my5740", "my8033") for config in ("base", "f1", "nodw"))

_MEASURE = """() => {
    const tops = (found) => [...document.querySelectorAll(found)].filter(e => e.checkVisibility())
        .map(e => e.getBoundingClientRect().top + scrollY);
    const first = (found) => Math.min(...tops(found));
    const charts = 'figure.chart, figure.picture';
    const result = first(`.strips, main .table, ${charts}`);
    return {
        result, picture: first(`.strips svg, ${charts}`), height: document.documentElement.scrollHeight,
        tables: tops('main table').length, folded: document.querySelectorAll('main table').length,
        warnings: tops('#builds li, #runs li, #made-from li').filter(top => top < result).length,
    };
}"""


@dataclass(frozen=True)
class Page:
    """Pixels from the top to the first result and the first picture, and heights; numbers of tables and warnings.

    `folded` counts tables in what is folded, too. None: not counted then.
    """

    result: int | None
    picture: int | None
    height: int | None
    narrow: int | None
    tables: int | None
    folded: int | None = None
    warnings: int | None = None


FIRST_CONTACT = {
    "sample, 7 x 3": Page(3441, 10269, 33458, 38014, 63),
    "two builds, 6 x 3": Page(4950, 12700, 42896, 47987, 71, warnings=78),
    "fifteen x 1": Page(5925, 15659, 46188, 62648, 62),
    "compare, 2 x 3": Page(250, 5312, 19553, 21920, 22),
}
"""At 35909e6, by hand. There was no page of fifteen results with three runs each."""

_UNKNOWN = Page(None, None, None, None, None)


def pages(folder: Path) -> dict[str, Path]:
    """The pages of FIRST_CONTACT as they are built today, and that of fifteen results with three runs each."""
    own = linked(workspace(), folder / "own")
    params = workspace().root / "papermill_params"
    lakes = {
        "two builds, 6 x 3": Size(SCALE, 6, CLIENTS, repeats=3, names=TWO_BUILDS),
        "fifteen x 1": Size(SCALE, 15, CLIENTS),
        "fifteen x 3": Size(SCALE, 15, CLIENTS, repeats=3),
    }
    found = {
        "sample, 7 x 3": build_post(params / "insert_benchmark" / "sample.yml", own),
        "compare, 2 x 3": build_post(params / "compare" / "sample.yml", own),
    }
    for name, size in lakes.items():
        place = Workspace(folder / name.replace(" ", "-"))
        make_lake(place, size)
        (place.root / "notebooks").symlink_to(workspace().notebooks)
        found[name] = build_post(_post_file(folder), place)
    return found


def _post_file(folder: Path) -> Path:
    values = {
        "notebook": "insert_benchmark", "slug": "page", "title": "A page", "author": "A. Tester",
        "parameters": {"experiment": EXPERIMENT, "steps": STEPS},
    }  # fmt: skip
    path = folder / "page.yml"
    with open(path, "w", encoding="utf-8") as file:
        YAML(typ="safe", pure=True).dump(values, file)
    return path


def measured(browser: Browser, path: Path) -> Page:
    at: dict[int, dict[str, Any]] = {}
    for width in (WIDE, NARROW):
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(path.as_uri())
        page.wait_for_load_state("networkidle")
        at[width] = page.evaluate(_MEASURE)
        page.close()
    wide = at[WIDE]
    return Page(
        round(wide["result"]), round(wide["picture"]), wide["height"], at[NARROW]["height"], wide["tables"],
        wide["folded"], wide["warnings"],
    )  # fmt: skip


def report(found: dict[str, Page]) -> str:
    """The section of docs/benchmarks/page_sizes.md."""
    lines = [
        "# How long pages are",
        "",
        f"Measured with `python -m benchmarks.page_sizes`, in pixels at {WIDE}; the height at {NARROW}, too.",
        "Left of each arrow are the sizes at 35909e6, as found by the first user who had not worked on the project.",
        "The posts of two builds and of fifteen results are of synthetic lakes, with five steps as before.",
        "",
        f"| post | first result | first picture | height | height at {NARROW} | open tables (all) "
        "| warnings above results |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, now in found.items():
        before = FIRST_CONTACT.get(name, _UNKNOWN)
        cells = [
            _change(before.result, now.result),
            _change(before.picture, now.picture),
            _change(before.height, now.height),
            _change(before.narrow, now.narrow),
            f"{_change(before.tables, now.tables)} ({now.folded})",
            _change(before.warnings, now.warnings),
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _change(before: int | None, now: int | None) -> str:
    return f"{now or 0:,}" if before is None else f"{before:,} → {now or 0:,}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print", action="store_true", help="print the section, and write nothing")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(workspace()), args=["--no-sandbox"])
        text = report({name: measured(browser, path) for name, path in pages(Path(name)).items()})
        browser.close()
    print(text)
    if not arguments.print:
        write_section("page_sizes", text)


if __name__ == "__main__":
    main()
