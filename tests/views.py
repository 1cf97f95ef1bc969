"""What DuckDB makes of the project's SQL takes seconds: it is made once, and all tests' workspaces share it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import duckdb

from ibench_lib.lake import reader
from ibench_lib.paths import Workspace

folder = Path()
"""Where it is kept: set for the session by tests/conftest.py."""

in_each_workspace = reader._with_every_name


def in_one_folder(_cache: Path) -> duckdb.DuckDBPyConnection:
    return in_each_workspace(folder)


def give_views(workspace: Workspace) -> Workspace:
    """Put it where other processes look for it when they open the workspace's lake: kernels, and commands."""
    workspace.data.mkdir(parents=True, exist_ok=True)
    in_each_workspace(folder).close()
    (kept,) = folder.glob(".views-*.duckdb")
    with contextlib.suppress(FileExistsError):
        os.link(kept, workspace.data / kept.name)
    return workspace
