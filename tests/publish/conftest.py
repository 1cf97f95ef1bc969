"""What tests of posts may use: a browser, a kernel, and two posts that are built once for all of them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from ibench_lib.paths import Workspace
from ibench_lib.publish.post import build_post
from ibench_lib.store.manifest import with_checksum
from tests.publish.browsing import Opened, open_post
from tests.publish.posting import HOSTILE, SharedKernel, params_file, with_notebook
from tests.shared import made_once
from tests.synthetic import Run, three_configurations, write_runs


@pytest.fixture(autouse=True)
def closed_pages(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test's own pages are closed after it; those of the session stay."""
    browsers: list[Browser] = [request.getfixturevalue("browser")] if "browser" in request.fixturenames else []
    before = [context for browser in browsers for context in browser.contexts]
    yield
    for browser in browsers:
        for context in browser.contexts:
            if context not in before:
                context.close()


@pytest.fixture(scope="session")
def kernel() -> Iterator[SharedKernel]:
    """One for all notebooks that need none of their own."""
    shared = SharedKernel()
    yield shared
    shared.close()


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    """A workspace with the project's notebooks and no runs."""
    return with_notebook(tmp_path)


@pytest.fixture(scope="session")
def demo() -> Path:
    """The page of a post of three complete runs."""

    def build(folder: Path) -> Path:
        workspace = with_notebook(folder)
        write_runs(workspace, *three_configurations())
        return build_post(params_file(workspace), workspace)

    return made_once("demo", build)


@pytest.fixture(scope="session")
def hostile() -> Path:
    """The page of a post in which every text that somebody can choose is an attack; one run failed."""
    return made_once("hostile", build_hostile)


def build_hostile(folder: Path) -> Path:
    workspace = with_notebook(folder)
    runs = [
        Run(experiment="demo", title=HOSTILE, dbms=HOSTILE, setup=HOSTILE, client_bound=HOSTILE, scale=0.002),
        Run("x", minute=1, setup=HOSTILE, dbms=HOSTILE + "2", options=f"{HOSTILE}={HOSTILE}\n", warnings=(HOSTILE,)),
        Run(
            "y", minute=2, setup=HOSTILE, dbms="broken", status="failed", failed_step="l.i1", error=HOSTILE,
            steps=("l.i0", "l.x", "l.i1"),
        ),
    ]  # fmt: skip
    for writer in write_runs(workspace, *runs):
        # Much of a run's files comes from other people's machines.
        path = writer.run_dir / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["workload"]["resolved_steps"].append({"name": HOSTILE, "kind": "query"})
        manifest["workload"]["benchmark"] = HOSTILE
        manifest["experiment"]["text"] = HOSTILE
        manifest["cell"]["build"] = manifest["server"]["version"] = manifest["server"]["flavour"] = HOSTILE
        manifest["host"] = {"cpu_model": HOSTILE, "os": HOSTILE, "kernel": HOSTILE}
        manifest["versions"] = manifest["null_reasons"] = {HOSTILE: HOSTILE}
        manifest["tool_version"] = HOSTILE
        path.write_bytes(with_checksum(manifest))
    text = {"title": HOSTILE, "author": HOSTILE, "tldr": [HOSTILE], "notes": {"builds": HOSTILE}}
    return build_post(params_file(workspace, **text), workspace)


@pytest.fixture(scope="session")
def opened_demo(demo: Path, browser: Browser) -> Opened:
    """For tests that only look."""
    return open_post(browser, demo)


@pytest.fixture(scope="session")
def opened_hostile(hostile: Path, browser: Browser) -> Opened:
    """For tests that only look."""
    return open_post(browser, hostile)
