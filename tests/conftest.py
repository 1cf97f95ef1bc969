"""What every test may use: a workspace of its own, the server build, a browser."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from playwright.sync_api import Browser, sync_playwright

from ibench_lib import paths
from ibench_lib.base import debian
from ibench_lib.base.chromium import find_chromium
from ibench_lib.paths import Workspace
from ibench_lib.publish.lean_imports import lean_imports
from ibench_lib.servers import on_this_machine
from ibench_lib.servers.build import Build
from ibench_lib.servers.find import find_system
from ibench_lib.servers.sources import apt
from ibench_lib.store import reader
from tests import shared
from tools import run_tests

with lean_imports():  # every pytest process imports it, and `import nbformat` would take five seconds of CPU
    import nbformat  # noqa: F401

# A busy machine may take a second for what takes a millisecond; how long an example takes proves nothing.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")

# What playwright's driver needs and a bare machine lacks, where tools/provide.py had to unpack it.
_driver_libraries = debian.library_folders(paths.workspace().build_dir("playwright-libraries"))
if _driver_libraries:
    os.environ["LD_LIBRARY_PATH"] = ":".join(map(str, _driver_libraries))

# A server unpacked in the project is the one to test with in workspaces elsewhere, too.
if on_this_machine.system_build() is None and (_unpacked := apt.unpacked_build(paths.workspace())) is not None:
    os.environ[on_this_machine.VARIABLE] = str(paths.workspace().build_dir(_unpacked.label))

BROWSER_ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]


def pytest_configure(config: pytest.Config) -> None:
    """Without -m, pytest runs what `make test` does, of a named file the long tests too, and a named test always."""
    if not config.option.markexpr:
        config.option.markexpr = run_tests.marks_of(config.args)
    config.pluginmanager.register(Failures(config))


class Failures:
    """Says at once which test failed and where: a run that is cut off says nothing at its end."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Print a line with the test, its part (setup, call or teardown), the file and the error."""
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")  # several processes have one together
        if report.failed and terminal is not None:
            crash = getattr(report.longrepr, "reprcrash", None)
            terminal.write_line(f"\nFAILED {report.nodeid} ({report.when}): {crash or report.longreprtext}")
            terminal.flush()  # a pipe would keep it until there is more


# A test that uses one of these fixtures, directly or not, has the mark.
NEEDS = {
    "server": {"build", "postgres", "old_postgres"},
    "browser": {"chromium"},
    "slow": {"demo", "hostile", "kernel", "lab"},  # these build posts, or start a kernel or a cluster
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a server, a browser or many seconds, so that `make test-quick` can leave it out."""
    for item in items:
        for mark, fixtures in NEEDS.items():
            if not fixtures.isdisjoint(getattr(item, "fixturenames", ())):
                item.add_marker(mark)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test of `make test-quick` asks no lake. A long one does not begin when the time for them is over."""
    if run_tests.is_left_out(set(item.keywords)):
        pytest.skip(f"no time left for {item.nodeid}")
    shared.quick_test = None if any(map(item.get_closest_marker, run_tests.NOT_QUICK)) else item.nodeid


@pytest.fixture(scope="session", autouse=True)
def shared_views(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Lets all workspaces share what DuckDB makes of the SQL: each would take seconds of its own for it."""
    base = tmp_path_factory.getbasetemp()
    shared.folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    shared.folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_with_every_name", shared.in_one_folder)
        yield


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace in which nothing exists yet. Servers started by this process copy the project's data directories."""
    monkeypatch.setattr(Workspace, "datadirs", paths.workspace().datadirs)
    return Workspace(tmp_path)


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder that every user of the machine may enter, as none may enter pytest's own."""
    with tempfile.TemporaryDirectory(prefix="ibench-test-", dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="session")
def build() -> Build:
    """The server that experiments call `system`. Without one the tests fail: `make test` brings it."""
    return find_system(paths.workspace())


@pytest.fixture(scope="session")
def sysbench() -> str:
    """The program, of a version that the workload knows. `make test` brings it."""
    found = shutil.which(os.environ.get("IBENCH_SYSBENCH") or "sysbench")
    assert found, "no sysbench on this machine; `make test` brings it"
    return found


@pytest.fixture(scope="session")
def chromium() -> Path:
    """The browser's program, for playwright's `executable_path`. `make test` brings it."""
    found = find_chromium(paths.workspace())
    assert found, "no Chromium on this machine; `make test` brings it"
    return found


@pytest.fixture(scope="session")
def browser(chromium: Path) -> Iterator[Browser]:
    """Headless Chromium. One for all tests: playwright starts once in a process.

    Where it is there, the shell of the same Chromium: it has no windows, and opens a post with half of the CPU.
    """
    program = shutil.which("chromium-headless-shell") or str(chromium)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=BROWSER_ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(autouse=True)
def closed_pages(request: pytest.FixtureRequest) -> Iterator[None]:
    """Closes what a test has opened in the browser: each page that stays open goes on taking CPU."""
    if "browser" not in request.fixturenames:
        yield
        return
    browser: Browser = request.getfixturevalue("browser")
    kept = list(browser.contexts)
    yield
    for context in browser.contexts:
        if context not in kept:
            context.close()


@pytest.fixture
def small_disk() -> Iterator[Callable[[Path, str], Path]]:
    """Makes a folder a disk of its own, of a given size such as 64m. Needs root, as a real full disk does."""
    mounted: list[Path] = []

    def make(folder: Path, size: str) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
        mounted.append(folder)
        return folder

    yield make
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
