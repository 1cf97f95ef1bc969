"""From a build label to a build, wherever it came from."""

from __future__ import annotations

import difflib

from ibench_lib.errors import BuildNotFound
from ibench_lib.paths import Workspace, check_name
from ibench_lib.servers import path, unpacked
from ibench_lib.servers.build import Build


def find_build(label: str, workspace: Workspace) -> Build:
    """The build that an experiment names.

    `system` is IBENCH_BASEDIR's, else the first on PATH, else the first unpacked inside the project; any other label is
    that of a build unpacked inside the project.

    Raises
    ------
    NameRefused : the label breaks the name rule.
    BuildNotFound : there is no such build.
    ServerStartError : it is there and does not run.
    """
    check_name(label, "build label")
    unpacked_labels = unpacked.labels(workspace)
    if label == path.LABEL:
        build = path.system_build()
        if build is not None:
            return build
        if unpacked_labels:
            return unpacked.read(workspace.build_dir(unpacked_labels[0]), path.LABEL)
        raise BuildNotFound(
            "no mariadbd or mysqld on PATH, in the system's folders or in data/builds",
            hint=f"`ibench servers install` brings MariaDB; or set {path.VARIABLE} to a server's basedir",
        )
    if label in unpacked_labels:
        return unpacked.load(label, workspace)
    known = [path.LABEL, *unpacked_labels]
    near = difflib.get_close_matches(label, known, n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    raise BuildNotFound(
        f"no server build is called {label}; there is {', '.join(known)}",
        hint=f"{meant}`ibench servers` lists the builds, `ibench servers install` brings MariaDB",
    )


def all_builds(workspace: Workspace) -> list[Build]:
    """Every build that an experiment can name: the machine's own first, then the unpacked ones.

    Raises
    ------
    BuildNotFound, ServerStartError : one of them is broken; it is named, and never left out in silence.
    """
    system = path.system_build()
    unpacked_builds = [unpacked.load(label, workspace) for label in unpacked.labels(workspace)]
    return [*([system] if system else []), *unpacked_builds]
