"""Get what a make target needs and this machine lacks: `provide.py server`, `provide.py chromium`."""

import os
import subprocess
import sys
from collections.abc import Callable

from ibench_lib import debian
from ibench_lib.chromium import find_chromium, install_chromium
from ibench_lib.errors import BuildNotFound, IbenchError
from ibench_lib.paths import workspace
from ibench_lib.servers import registry
from ibench_lib.servers.find import find_system
from ibench_lib.servers.sources.apt import install_mariadb

# tests/conftest.py hands what is unpacked here to the tests
PLAYWRIGHT_LIBRARIES = "playwright-libraries"


def server() -> None:
    try:
        find_system(workspace())
    except BuildNotFound as error:
        if "IBENCH_BASEDIR" in error.what:  # the user has named a server: bringing another would hide the mistake
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


WAYS: dict[str, Callable[[], None]] = {"server": server, "chromium": chromium}

if __name__ == "__main__":
    try:
        for what in sys.argv[1:]:
            WAYS[what]()
    except IbenchError as error:
        sys.exit("\n".join(filter(None, [error.detail, f"ibench: {error.what}", f"        {error.hint or ''}"])))
