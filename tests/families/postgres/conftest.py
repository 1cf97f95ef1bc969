"""A PostgreSQL for these tests, and a server of it that they share. As root it runs as another user."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ibench_lib import paths
from ibench_lib.errors import HostUnfit
from ibench_lib.servers import registry
from ibench_lib.servers.account import unprivileged
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from tests.families.postgres.boxes import sandbox

OLD = "postgres-9.6"
"""A build with tests of its own, which has not all that the others need."""


@pytest.fixture(scope="session")
def open_folder() -> Iterator[Path]:
    """A folder that every user of the machine may enter, as none may enter pytest's own."""
    with tempfile.TemporaryDirectory(prefix="ibench-test-", dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="session")
def postgres(open_folder: Path) -> Build:
    """The project's PostgreSQL, where the user that it runs as may execute it. `make test` brings it."""
    labels = [label for label in registry.labels(paths.workspace()) if label.startswith("postgres-")]
    labels = [label for label in labels if label != OLD]
    assert labels, "no PostgreSQL in data/builds; `make test` brings it"
    return _executable(labels[0], open_folder)


@pytest.fixture(scope="session")
def old_postgres(open_folder: Path) -> Build:
    """PostgreSQL 9.6, if the project has it."""
    if OLD not in registry.labels(paths.workspace()):
        pytest.skip(f"{OLD} is not installed: `ibench servers install {OLD}`")
    return _executable(OLD, open_folder)


def _executable(label: str, open_folder: Path) -> Build:
    """A build of the project, copied if the user that it runs as could not execute it where it is."""
    workspace = paths.workspace()
    found = registry.load(label, workspace)
    if os.geteuid() != 0:
        return found
    try:
        unprivileged().require_entry(Path(found.command[-1]))
    except HostUnfit:
        here, copy = str(workspace.build_dir(found.label).resolve()), str(open_folder / found.label)
        shutil.copytree(here, copy, symlinks=True)
        found = replace(
            found,
            basedir=Path(str(found.basedir).replace(here, copy)),
            command=tuple(word.replace(here, copy) for word in found.command),
            environment={name: value.replace(here, copy) for name, value in found.environment.items()},
        )
    return found


@pytest.fixture(scope="session")
def shared_box(postgres: Build, open_folder: Path) -> Iterator[Sandbox]:
    """A server that tests do not break."""
    box = sandbox(postgres, open_folder / "shared")
    with box:
        yield box
