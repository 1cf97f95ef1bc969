"""Builds that the project knows by label: data/builds/<label>/, described by the build.json that makes them whole.

A source of builds unpacks into `arriving()`, describes what it got, and `adopt`s it. The directory gets its name in
one rename after that, so a directory with a build.json is a whole build, and one without is none of ours. The
description of a build that lies elsewhere (the user's own basedir) is all that is in its directory.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ibench_lib.errors import BuildNotFound
from ibench_lib.paths import Workspace, check_name
from ibench_lib.servers.build import Build
from ibench_lib.servers.identify import identify

DESCRIPTION = "build.json"
SYSTEM = "system"
"""The label of the machine's own server, which no other build can have."""
ROOT = "{root}"
"""Stands for the build's own directory in a description, so that a project may be moved."""


@contextlib.contextmanager
def arriving(workspace: Workspace) -> Iterator[Path]:
    """An empty directory next to the builds to unpack into; removed at the end unless `adopt` gave it a name."""
    workspace.builds.mkdir(parents=True, exist_ok=True)
    # The leading dot keeps it outside the name rule: it can never be taken for a build.
    directory = Path(tempfile.mkdtemp(prefix=".arriving-", dir=workspace.builds))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def describe(
    root: Path,
    *,
    basedir: str,
    command: list[str],
    source: str,
    environment: dict[str, str] | None = None,
    options: list[str] | None = None,
    template: str | None = None,
    files: dict[str, str] | None = None,
) -> None:
    """Write the build.json of the build in `root`. Paths inside start with `ROOT`.

    `files` are the SHA-256 of the files that it was unpacked from, by name.
    """
    description = {
        "basedir": basedir,
        "command": command,
        "source": source,
        "environment": environment or {},
        "options": options or [],
        "template": template,
        "files": files or {},
    }
    (root / DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")


def require_free(label: str, workspace: Workspace) -> None:
    """Raises NameRefused or BuildNotFound where a label cannot be given to another build."""
    check_name(label, "build label")
    if label == SYSTEM or label in labels(workspace):
        raise BuildNotFound(
            f"a build called {label} already exists",
            hint=f"choose another label, or run `ibench servers remove {label}` first",
        )


def adopt(arrived: Path, label: str, workspace: Workspace) -> Build:
    """Give a described build its label. A build that has the label already stays as it is."""
    if label not in labels(workspace):
        os.rename(arrived, workspace.build_dir(label))
    return load(label, workspace)


def labels(workspace: Workspace) -> list[str]:
    """Labels of the builds, sorted."""
    if not workspace.builds.is_dir():
        return []
    return sorted(
        entry.name
        for entry in workspace.builds.iterdir()
        if not entry.name.startswith(".") and not entry.is_symlink() and (entry / DESCRIPTION).is_file()
    )


def source_of(label: str, workspace: Workspace) -> str | None:
    """Where a build came from; None for a remote server and for what cannot be read."""
    try:
        described = json.loads((workspace.build_dir(label) / DESCRIPTION).read_text(encoding="utf-8"))
        return str(described["source"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def load(label: str, workspace: Workspace) -> Build:
    """The build of that label, asked for its version.

    Raises
    ------
    BuildNotFound : its description is missing or unreadable.
    ServerStartError : its server does not run.
    """
    return read(workspace.build_dir(label), label)


def read(root: Path, label: str) -> Build:
    """The build described in `root`, under a label of the caller's choice."""
    check_name(label, "build label")
    try:
        described = json.loads((root / DESCRIPTION).read_text(encoding="utf-8"))
        basedir, source = str(described["basedir"]), str(described["source"])
        command = [str(part) for part in described["command"]]
        environment = {str(name): str(value) for name, value in described["environment"].items()}
        options = [str(option) for option in described.get("options", [])]
        template = described.get("template")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BuildNotFound(
            f"build {label}: {root / DESCRIPTION} is unreadable: {error}",
            hint=f"ibench servers remove {label}, then install it again",
        ) from error
    here = str(root.resolve())
    return identify(
        label,
        Path(basedir.replace(ROOT, here)),
        tuple(part.replace(ROOT, here) for part in command),
        source=source,
        environment={name: value.replace(ROOT, here) for name, value in environment.items()},
        options=tuple(option.replace(ROOT, here) for option in options),
        template=None if template is None else Path(str(template).replace(ROOT, here)),
    )


def remove(label: str, workspace: Workspace) -> None:
    """Forget a build, and delete what the project has unpacked of it. A basedir elsewhere stays as it is.

    Raises
    ------
    BuildNotFound : there is no such build in data/builds.
    """
    directory = workspace.build_dir(label)
    if label not in labels(workspace):
        raise BuildNotFound(f"no build {label} in {workspace.builds}", hint="`ibench servers list` shows the builds")
    # Out of the way in one step: a removal that is cut short leaves nothing that looks like a build.
    with arriving(workspace) as leaving:
        os.rename(directory, leaving / "build")
