"""Pages of one section, and the files that a click on them saves."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Page

from ibench_lib.ask.selection import Selection, choose
from ibench_lib.paths import Workspace
from ibench_lib.publish.page import PageText, render
from ibench_lib.show.kit.pieces import Html
from ibench_lib.store import reader
from tests.synthetic import Run, write_runs


def selection_of(workspace: Workspace, *runs: Run) -> Selection:
    write_runs(workspace, *runs)
    return choose(reader.lake(workspace), "demo")


def saved(page: Page, question: str) -> tuple[str, bytes]:
    """The file that a click on a question's link gives: (its name, its content)."""
    page.evaluate("name => { location.hash = `evidence.${name}` }", question)
    with page.expect_download() as waiting:
        page.locator(f"[id='evidence.{question}'] a.data").click()
    download = waiting.value
    return download.suggested_filename, Path(download.path()).read_bytes()


def page_with(
    markup: str | Html | Sequence[str | Html | dict[str, Any]], folder: Path, most_bytes: int = 10**7
) -> Path:
    """A page of one section with this in it, an output of its cell or several; a dict is an output's data."""
    shown = [markup] if isinstance(markup, str | Html) else markup
    bundles = [one if isinstance(one, dict) else Html(one).bundle for one in shown]
    outputs = [nbformat.v4.new_output("display_data", bundle) for bundle in bundles]
    cells = [
        nbformat.v4.new_markdown_cell("## Evidence", id="evidence"),
        nbformat.v4.new_code_cell("", outputs=outputs),
    ]
    text = PageText("Title", "Author", datetime(2026, 11, 21).date(), "", {})
    path = folder / "page.html"
    path.write_bytes(render(nbformat.v4.new_notebook(cells=cells), text, most_bytes))
    return path
