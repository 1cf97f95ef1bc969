"""JupyterLab as `make lab` opens it: explore.ipynb runs there, its tables and charts appear, nothing is fetched."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from ibench_lib.paths import Workspace
from tests.places import ROOT
from tests.publish.browsing import new_context
from tests.synthetic import Run, begin_run, end_run, three_configurations, write_runs
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.lake

PRIVATE = (
    "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR",
    "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR", "HOME",
)  # fmt: skip
LIVE = Run("live", status="running", minute=9, steps=("l.i0", "l.x", "l.i1"))


def lab_command() -> list[str]:
    """What `make lab` runs, by this Python instead of the checkout's."""
    lines = subprocess.run(
        ["make", "-n", "--no-print-directory", "lab"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    program, *arguments = shlex.split(lines.splitlines()[-1])
    assert program.endswith("bin/jupyter")
    return [sys.executable, "-m", "jupyter", *arguments]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address that `make lab` would open in a browser, of a lake with complete runs and one in progress."""
    root = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "notebooks", root / "notebooks", ignore=shutil.ignore_patterns(".*"))
    workspace = Workspace(root)
    write_runs(workspace, *three_configurations())
    writer = begin_run(workspace, LIVE, sealed=("l.i0", "l.x"))
    environment = {**os.environ, "IBENCH_HOME": str(root), "PYTHONPATH": str(ROOT), "JUPYTER_TOKEN": "secret"}
    environment |= {name: str(root / name.lower()) for name in PRIVATE}
    quiet = [
        "--no-browser", "--ip=127.0.0.1", "--port=0", "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    with open(root / "log", "wb") as log:
        server = subprocess.Popen(
            [*lab_command(), *quiet], cwd=root, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:

        def address() -> re.Match[str] | None:
            assert server.poll() is None, (root / "log").read_text()
            pages = (root / "jupyter_runtime_dir").glob("jpserver-*-open.html")
            return re.search(r'href="(http[^"]+)"', "".join(path.read_text() for path in pages))

        yield html.unescape(until(address, "JupyterLab has said its address")[1])
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(PATIENCE_S)
        end_run(writer, LIVE)


def code_cells() -> list[Any]:
    """The cells of explore.ipynb that run."""
    stored = json.loads((ROOT / "notebooks" / "explore.ipynb").read_text(encoding="utf-8"))["cells"]
    return [cell for cell in stored if cell["cell_type"] == "code"]


@pytest.fixture(scope="module")
def ran(lab: str, browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """explore.ipynb in JupyterLab after Run All, with the addresses that the page asked for."""
    context = new_context(browser, viewport={"width": 1280, "height": 3000})
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(lab)
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
    page.wait_for_function(
        """() => document.querySelector('.jp-Toolbar-kernelName')?.textContent.includes('Python 3') &&
                 document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'"""
    )
    # By the menu: the shortcut of the command palette also closes it, and is ignored until shortcuts are loaded.
    page.locator(".lm-MenuBar-item").get_by_text("Run", exact=True).click()
    page.locator(".lm-Menu-item:not(.lm-mod-disabled)").get_by_text("Run All Cells", exact=True).click()
    # The last cell has a number when all before it have run. JupyterLab puts cells into the page little by little.
    page.wait_for_function(
        """count => { const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputArea-prompt')];
                      return prompts.length == count && /\\[\\d+\\]/.test(prompts.at(-1).textContent) }""",
        arg=len(code_cells()),
    )
    yield page, asked
    context.close()


@pytest.mark.long
def test_explore_runs_in_jupyterlab_and_shows_tables_and_charts(ran: tuple[Page, list[str]]) -> None:
    page, asked = ran
    assert page.locator(".jp-NotebookPanel").count() == 1
    numbers = page.locator(".jp-CodeCell .jp-InputArea-prompt").all_text_contents()
    assert [number.strip() for number in numbers] == [f"[{n}]:" for n, _ in enumerate(code_cells(), start=1)]
    errors = "[data-mime-type='application/vnd.jupyter.stderr'], [data-mime-type='application/vnd.jupyter.error']"
    assert page.locator(errors).all_inner_texts() == []
    page.wait_for_function("document.querySelectorAll('.jp-OutputArea .js-plotly-plot .trace path').length > 0")
    widths = page.evaluate(
        """[...document.querySelectorAll('.jp-OutputArea .js-plotly-plot')].map(chart =>
            Math.max(0, ...[...chart.querySelectorAll('.trace path, .points path')].map(e => e.getBBox().width)))"""
    )
    assert widths and all(width > 1 for width in widths), widths
    drawn = page.evaluate(
        """[...document.querySelectorAll('.jp-OutputArea .picture')].map(chart => [
            chart.querySelectorAll('.panel path, .along :is(circle, rect)').length,
            getComputedStyle(chart.querySelector('line')).stroke, chart.getBoundingClientRect().width])"""
    )
    assert len(drawn) > 3 and len(widths) + len(drawn) > 5, "what needs no zoom is a picture, as on a page"
    for shapes, stroke, wide in drawn:
        assert shapes and stroke in ("rgb(217, 223, 229)", "rgb(90, 99, 110)") and wide > 300, "the page's rules"
    tables = page.locator(".jp-OutputArea table.grid").all_text_contents()
    assert any("Average throughput, cached" in text and "system.cy10ap1lag" in text for text in tables)
    assert any("system.live" in text and "running" in text for text in tables), "the run in progress"
    assert page.locator(".jp-OutputArea table.dataframe").count() >= 2, "polars and pandas"
    shown = page.locator(".jp-OutputArea-output").all_text_contents()
    assert any("4 runs of 1 experiment, 0 problems" in text for text in shown), "the lake"
    assert any("system.cy10a (base)" in text for text in shown), "what was chosen"
    folders = page.locator(".jp-DirListing-itemName").all_text_contents()
    assert "notebooks" in [*folders, *page.locator(".jp-BreadCrumbs-item").all_text_contents()], "rooted in the project"
    hosts = {re.sub(r"^(?:blob:)?\w+://([^/:]*).*", r"\1", address, flags=re.DOTALL) for address in asked}
    assert hosts - {"127.0.0.1"} == set(), "offline"
