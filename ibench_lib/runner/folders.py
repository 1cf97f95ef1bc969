"""Folders on other disks that an experiment's `storage` names: may a cell's server put its files there?"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ibench_lib.errors import ExperimentError, HostUnfit
from ibench_lib.experiment.cells import Cell, LoadedExperiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.planned import PlannedCell
from ibench_lib.servers.flavours.flavour import flavour_of

_OF_THE_KERNEL = ("/proc", "/sys", "/dev")
_MEMORY = Path("/dev/shm")
"""A folder for files, though it lies in /dev."""


def require_apart(experiment: LoadedExperiment, cell: Cell, workspace: Workspace) -> None:
    """Refuse a folder of the kernel's, and one among the runs, sandboxes and other data of this project.

    Raises
    ------
    ExperimentError : with the line of the experiment file.
    """
    ours = workspace.data.resolve()
    parts = [part.resolve() for part in workspace.data.iterdir() if part.is_dir()] if workspace.data.is_dir() else []
    for what, folder in cell.config.folders.items():
        where = (
            f"{experiment.place_of_storage(cell, what)}: `storage` of config {cell.config.name}: {folder} for {what}"
        )
        real = Path(os.path.realpath(folder))  # which a loop of links does not stop
        for path in (folder, real):  # /proc/self is another folder for the server
            if any(path.is_relative_to(top) for top in _OF_THE_KERNEL) and not path.is_relative_to(_MEMORY):
                raise ExperimentError(
                    f"{where} lies in {path.parents[-2] if len(path.parts) > 2 else path}, which has no disk",
                    hint="name a folder on a disk",
                )
        if any(real.is_relative_to(part) for part in (ours, *parts)):
            raise ExperimentError(
                f"{where} belongs to the lake in {workspace.data}",
                hint="name a folder outside of it, or leave `storage` out: files then lie in its sandboxes",
            )


def require_folders(planned: PlannedCell, engine: str) -> None:
    """Refuse a cell whose server cannot have its files where the experiment wants them. `engine` is that of its tables.

    Raises
    ------
    ExperimentError : the server is remote, or its engine has no such files.
    HostUnfit : a folder is not there, not writable, or open to others.
    """
    config, build = planned.cell.config, planned.build
    where = f"{planned.cell}: `storage` of config {config.name}"
    for what, folder in config.folders.items():
        if build.local is None:
            raise ExperimentError(
                f"{where} has a folder for {what}, but the server {build.label} is remote",
                hint="leave `storage` out: a remote server keeps its files where they are",
            )
        refused = None if what == "data" else flavour_of(build).cannot_move(what, engine, planned.config)
        if refused is not None:
            raise ExperimentError(f"{where} has a folder for {what}, {refused[0]}", hint=refused[1])
        if not folder.is_dir():
            raise HostUnfit(
                f"{where}: {folder} for {what} is not a folder on this host", hint="create it, or mount its disk"
            )
        if not os.access(folder, os.W_OK | os.X_OK):
            raise HostUnfit(
                f"{where}: {folder} for {what} is not writable",
                hint="change its owner or mode so that you may write to it",
            )
        mode = folder.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise HostUnfit(
                f"{where}: anyone may write to {folder} and could replace the server's files",
                hint=f"chmod o-w {folder}, or set its sticky bit",
            )
