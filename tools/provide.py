"""Get what a make target needs and this machine lacks: `provide.py server`, `provide.py chromium`."""

import sys
from collections.abc import Callable

from ibench_lib.chromium import find_chromium, install_chromium
from ibench_lib.errors import BuildNotFound, IbenchError
from ibench_lib.paths import workspace
from ibench_lib.servers.apt import install_mariadb
from ibench_lib.servers.find import find_build


def server() -> None:
    try:
        find_build("system", workspace())
    except BuildNotFound as error:
        if "IBENCH_BASEDIR" in error.what:  # the user has named a server: bringing another would hide the mistake
            raise
        print("ibench: no server here; getting MariaDB with apt", flush=True)
        build = install_mariadb(workspace())
        print(f"ibench: {build.flavour} {build.version} in {build.basedir}")


def chromium() -> None:
    if find_chromium(workspace()) is None:
        print("ibench: no Chromium here; getting it with apt", flush=True)
        print(f"ibench: {install_chromium(workspace())}")


WAYS: dict[str, Callable[[], None]] = {"server": server, "chromium": chromium}

if __name__ == "__main__":
    try:
        for what in sys.argv[1:]:
            WAYS[what]()
    except IbenchError as error:
        sys.exit("\n".join(filter(None, [error.detail, f"ibench: {error.what}", f"        {error.hint or ''}"])))
