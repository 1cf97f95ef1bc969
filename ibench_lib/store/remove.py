"""Deleting a run: all of it or nothing, and only what is one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ibench_lib.base.durable import sync_directory
from ibench_lib.errors import LakeError
from ibench_lib.paths import Workspace
from ibench_lib.store import lock
from ibench_lib.store.manifest import FILE_NAME

_LEAVING = ".removing-"


def remove_run(run_id: str, workspace: Workspace) -> None:
    """Delete a run directory. From the first moment it is no longer in the lake.

    Raises
    ------
    NameRefused : not a run id.
    LakeError : there is no such run, somebody writes it, or the directory is not a run of ours.
    """
    run_dir = workspace.run_dir(run_id)
    if run_dir.is_symlink() or not run_dir.is_dir():
        raise LakeError(f"there is no run {run_id}", hint="`ibench runs` lists the runs of this lake")
    if not (run_dir / FILE_NAME).is_file() and not lock.is_open(run_dir):
        raise LakeError(f"{run_id} has no {FILE_NAME}: it may not be a run", hint="look at it, and remove it by hand")
    if lock.is_held(run_dir):
        raise LakeError(f"run {run_id} is being written", hint="wait for it, or stop its runner")
    leaving = run_dir.with_name(f"{_LEAVING}{run_id}")
    os.rename(run_dir, leaving)
    sync_directory(workspace.runs)
    shutil.rmtree(leaving)


def finish_removals(runs: Path) -> None:
    """Delete what a removal that was cut off has left."""
    for path in runs.glob(f"{_LEAVING}*") if runs.is_dir() else []:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
