"""From a build label to a build, wherever it came from."""

from __future__ import annotations

import difflib
from dataclasses import replace

from ibench_lib.errors import BuildNotFound, IbenchError
from ibench_lib.paths import Workspace, check_name
from ibench_lib.servers import catalogue, on_this_machine, registry, remote
from ibench_lib.servers.build import Build
from ibench_lib.servers.remote import Remote
from ibench_lib.servers.sources import apt


def find_build(label: str, workspace: Workspace) -> Build | Remote:
    """The build that an experiment names; a remote server under a label is one, too.

    `system` is IBENCH_BASEDIR's, else the first on PATH, else the distribution's, unpacked inside the project; any
    other label is that of a build in data/builds.

    Raises
    ------
    NameRefused : the label breaks the name rule.
    BuildNotFound : there is no such build.
    ServerStartError : it is there and does not run, or the remote server does not answer.
    UsageError : the remote server's password is not where it should be.
    """
    check_name(label, "build label")
    known = registry.labels(workspace)
    if label == on_this_machine.LABEL:
        return find_system(workspace)
    if label in known:
        return remote.load(label, workspace) or registry.load(label, workspace)
    what = f"no server build is called {label}; available are {', '.join([on_this_machine.LABEL, *known])}"
    if label in catalogue.offers():
        raise BuildNotFound(what, hint=f"install it: ibench servers install {label}")
    near = difflib.get_close_matches(label, [on_this_machine.LABEL, *known], n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    raise BuildNotFound(
        what, hint=f"{meant}`ibench servers list` shows the installed builds and those that you can install"
    )


def find_system(workspace: Workspace) -> Build:
    """The build that is called `system`. Raises as `find_build` does."""
    build = on_this_machine.system_build() or apt.unpacked_build(workspace)
    if build is None:
        raise BuildNotFound(
            "no mariadbd or mysqld on PATH, in the system's folders, or unpacked from the distribution",
            hint=f"install MariaDB with `ibench servers install`, or set {on_this_machine.VARIABLE} to a "
            f"server's basedir",
        )
    return replace(build, label=on_this_machine.LABEL)


def labels(workspace: Workspace) -> list[str]:
    """Labels of the builds that an experiment can name: `system` first where this machine has a server of its own."""
    try:
        has_own = on_this_machine.system_build() is not None
    except IbenchError:
        has_own = True  # broken: an error is raised when an experiment asks for it
    return [*([on_this_machine.LABEL] if has_own else []), *registry.labels(workspace)]
