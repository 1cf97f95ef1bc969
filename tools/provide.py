"""Get what a make target needs and this machine lacks: `provide.py server`, and so on (`WAYS`)."""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from ibench_lib.base import debian
from ibench_lib.base.chromium import find_chromium, install_chromium
from ibench_lib.base.durable import write_atomically
from ibench_lib.errors import BuildNotFound, IbenchError
from ibench_lib.paths import workspace
from ibench_lib.publish import plotly_js
from ibench_lib.servers import catalogue, registry
from ibench_lib.servers.find import find_system
from ibench_lib.servers.sources.apt import install_mariadb
from ibench_lib.servers.sources.fetch import check_sha256, run_client
from ibench_lib.workloads.sysbench.program import VARIABLE, install_sysbench, program_here

# tests/conftest.py hands what is unpacked here to the tests
PLAYWRIGHT_LIBRARIES = "playwright-libraries"
# Holds pages against the rules of accessibility; tests/posts/browsing.py runs it in them.
AXE_CORE, AXE_CORE_SHA256 = "axe-core@4.14.1", "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"
AXE_FOLDER = AXE_CORE.replace("@", "-")
# A third of plotly.js, which most pages can do with; ibench_lib/publish/plotly_js.py says which file of it.
PLOTLY = f"plotly.js-cartesian-dist-min@{plotly_js.VERSION}"
PLOTLY_SHA256 = "c5f9a84666b97e571a04de689e09319869e60900e265c89eac2f71d0b5a0de88"


def server() -> None:
    try:
        find_system(workspace())
    except BuildNotFound as error:
        if "IBENCH_BASEDIR" in error.what:  # the user has named a server: installing another one would hide the mistake
            raise
        print("ibench: no server here; getting MariaDB with apt", flush=True)
        build = install_mariadb(workspace())
        print(f"ibench: {build.flavour} {build.version} in {build.basedir}")


def chromium() -> None:
    """The browser, and the library that playwright's own node takes from the system."""
    if find_chromium(workspace()) is None:
        print("ibench: no Chromium here; getting it with apt", flush=True)
        print(f"ibench: {install_chromium(workspace())}")
    if not playwright_runs():
        print("ibench: playwright's driver lacks libatomic; getting it with apt", flush=True)
        get_playwright_libraries()


def get_playwright_libraries() -> None:
    packages = ["libatomic1"]
    as_root = debian.privilege()
    if as_root is None:
        with registry.arriving(workspace()) as root:
            debian.unpack(packages, root)
            root.rename(workspace().build_dir(PLAYWRIGHT_LIBRARIES))
    else:
        debian.install(packages, as_root)
    if not playwright_runs():
        raise IbenchError("playwright's driver does not run", hint="see .venv/bin/playwright --version")


def playwright_runs() -> bool:
    folders = debian.library_folders(workspace().build_dir(PLAYWRIGHT_LIBRARIES))
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, folders))}
    command = [sys.executable, "-m", "playwright", "--version"]
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0


def axe() -> None:
    folder = workspace().build_dir(AXE_FOLDER)
    if folder.is_dir():
        return
    if shutil.which("npm") is None and (as_root := debian.privilege()) is not None and debian.has_apt():
        print("ibench: axe-core needs npm, which is missing; installing npm with apt", flush=True)
        debian.install(["npm"], as_root)
    print("ibench: getting axe-core with npm", flush=True)
    with registry.arriving(workspace()) as root:
        from_npm(AXE_CORE, AXE_CORE_SHA256, ["axe.min.js", "LICENSE"], root)
        root.rename(folder)


def from_npm(package: str, sha256: str, names: list[str], folder: Path, options: Sequence[str] = ()) -> None:
    """Some files of a package, unpacked into a folder. Raises IbenchError if npm cannot get it or it is another."""
    run_client("npm", ["pack", "--silent", *options, "--pack-destination", str(folder), package], folder)
    (archive,) = folder.glob("*.tgz")
    check_sha256(archive, sha256)
    with tarfile.open(archive) as tar:
        for name in names:
            content = tar.extractfile(f"package/{name}")
            assert content is not None
            (folder / name).write_bytes(content.read())
    archive.unlink()


def plotly() -> None:
    """The part of plotly.js that most pages need. Without it they are right too, and larger."""
    target = plotly_js.part_path()
    if target.exists():
        return
    print("ibench: getting the part of plotly.js for charts with two axes, with npm", flush=True)
    try:
        with tempfile.TemporaryDirectory() as name:
            # Without a network, nobody should wait for what is not needed.
            hasty = ["--fetch-retries=0", "--fetch-timeout=20000"]
            from_npm(PLOTLY, PLOTLY_SHA256, [target.name, "LICENSE"], Path(name), hasty)
            target.parent.mkdir(parents=True, exist_ok=True)
            for file in ("LICENSE", target.name):
                write_atomically(target.with_name(file), (Path(name) / file).read_bytes())
    except IbenchError as error:
        print(f"ibench: {error.what}; so pages with charts that zoom have all of plotly.js, 1.3 MB more")


def sysbench() -> None:
    if program_here().found is None:
        if os.environ.get(VARIABLE):  # the user has named one: installing another would hide the mistake
            raise IbenchError(program_here().why, hint=f"unset {VARIABLE}, or set it to the program")
        print("ibench: no sysbench here; getting it with apt", flush=True)
        print(f"ibench: {install_sysbench(workspace())}")


def postgres() -> None:
    if any(map(is_for_tests, registry.labels(workspace()))):
        return
    offered = [offer for offer, _ in catalogue.offers().values() if is_for_tests(offer.label)]
    offered.sort(key=lambda offer: not offer.origin.startswith("apt"))
    print(f"ibench: no PostgreSQL here; getting it: {offered[0].origin}", flush=True)
    catalogue.install(offered[0].label, workspace())


def is_for_tests(label: str) -> bool:
    """Whether it is a PostgreSQL with all that the tests need, which 9.6 has not."""
    return label.startswith("postgres-") and label != "postgres-9.6"


WAYS: dict[str, Callable[[], None]] = {
    "server": server,
    "chromium": chromium,
    "axe": axe,
    "plotly": plotly,
    "sysbench": sysbench,
    "postgres": postgres,
}

if __name__ == "__main__":
    try:
        for what in sys.argv[1:]:
            WAYS[what]()
    except IbenchError as error:
        sys.exit("\n".join(filter(None, [error.detail, f"ibench: {error.what}", f"        {error.hint or ''}"])))
