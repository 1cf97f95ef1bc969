"""A post on releases, from a lake with a known change to its page."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.paths import Workspace
from ibench_lib.publish.post import build_post
from tests.publish.posting import with_notebook, write_yaml
from tests.show.saying import made_of
from tests.synthetic import Run

pytestmark = [pytest.mark.lake, pytest.mark.slow]

ROUNDS, RELEASES = 3, (1, 2, 3, 4)


def as_release(manifest: dict[str, Any]) -> None:
    cell = manifest["cell"]
    cell["build"], cell["config"], cell["order"] = cell["config"], "c", "shuffle 7"
    version = {"b4": "10.11.4-MariaDB", "btrunk": "trunk"}.get(cell["build"], f"10.11.{cell['build'][1:]}-MariaDB")
    manifest["server"]["version"] = version
    manifest["server"]["variables"] |= {"version_compile_os": "Linux", "version_compile_machine": "x86_64"}
    manifest["binary"] = {"compiler": "GCC: (GNU) 12.2.0", "build_id": "ab12", "stripped": False}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Four releases, of which the last two have 20 % fewer queries/s; one build has no place in their order."""
    workspace: Workspace = with_notebook(tmp_path_factory.mktemp("history"))
    runs = [
        Run(f"b{build}", dbms=f"b{build}.c", repeat=repeat, minute=5 * repeat + build,
            queries=5 * (800 if build > 2 else 1000) + 2 * repeat * build)
        for repeat in range(1, ROUNDS + 1)
        for build in RELEASES
    ]  # fmt: skip
    made_of(workspace, *runs, Run("btrunk", dbms="btrunk.c", minute=40), change=as_release)
    return workspace


@pytest.fixture(scope="module")
def page(measured: Workspace) -> Path:
    return page_by("version", measured)


def page_by(order: str, workspace: Workspace) -> Path:
    parameters = {"experiment": "demo", "order": order, "steps": []}
    values = {
        "notebook": "version_history", "slug": f"by-{order}", "title": "Releases", "author": "A. Tester",
        "date": "2026-11-21", "parameters": parameters,
    }  # fmt: skip
    return build_post(write_yaml(workspace.root / f"{order}.yml", values), workspace)


def sentences(page: Path) -> list[str]:
    found = re.findall(r"<li(?: [^>]*)?>(.*?)</li>", page.read_text(encoding="utf-8"))
    texts = [html.unescape(re.sub(r"<.*?>", "", text)).strip() for text in found]
    return [re.sub(r"\s*(query|queries( \d)+)$", "", text) for text in texts]


@pytest.mark.long
def test_the_known_change_is_said_at_its_release_and_every_sentence_has_its_query(page: Path) -> None:
    (said,) = [text for text in sentences(page) if "a lasting change" in text]
    assert re.fullmatch(
        r"mariadb, cached, qr100: a lasting change arrived in b3: 20 % \(1\d to 2\d\) fewer queries/s\.", said
    )
    text = page.read_text(encoding="utf-8")
    first = text[text.index('<div class="headline">') : text.index('<ul class="statements">')]
    assert first.count("<figcaption>") == 4 and '<tr title="b3 (10.11.3): 0.80x' in first
    for statements in re.findall(r'<ul class="statements">(.*?)</ul>', text, re.DOTALL):
        for item in re.findall(r"<li[^>]*>.*?</li>", statements, re.DOTALL):
            assert "#evidence." in item, item
    assert 'href="#evidence.release_points"' in text and 'id="evidence.release_points"' in text
    assert 'href="#evidence.builds"' in text and 'id="evidence.builds"' in text


@pytest.mark.long
def test_what_cannot_be_said_is_one_line(page: Path) -> None:
    said = sentences(page)
    assert "Left out, because they have no place in the order of releases: btrunk (version trunk)." in said
    assert any(re.match(r"mariadb, cached: no change of \d+ % or more in l\.i0", text) for text in said), said


@pytest.mark.long
def test_in_the_order_of_dates_every_part_is_of_one_release_line(measured: Workspace) -> None:
    made = page_by("date", measured)
    said = sentences(made)
    assert "mariadb: 3 releases, b2 (10.11.2) to b4 (10.11.4)." in said
    assert (
        "The release date of b1 is not known, so this history, which is ordered by date, does not include it." in said
    )
    assert any(text.startswith("mariadb 10.11, cached") for text in said)
    assert not any(text.startswith("mariadb, cached") for text in said)
    assert "2023-02-16" in made.read_text(encoding="utf-8")
