"""How much disk space a run needs, and whether it is available."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from ibench_lib.configs.resolve import ServerConfig
from ibench_lib.errors import HostUnfit
from ibench_lib.paths import Workspace, nearest_existing
from ibench_lib.servers.flavours.flavour import flavour_of
from ibench_lib.servers.server import AnyBuild

_EMPTY_SERVER_BYTES, _CAPTURE_BYTES = 300 << 20, 64 << 20


def require_space(
    build: AnyBuild,
    config: ServerConfig,
    tables_bytes: int,
    workspace: Workspace,
    snapshot_bytes: int = 0,
    folders: Mapping[str, Path] | None = None,
    *,
    copied: bool = False,
) -> list[tuple[Path, int]]:
    """Refuse a run whose files would fill a disk, before it writes any. Returns the places, and the bytes for each.

    `snapshot_bytes`: size of a snapshot to make; `copied`: the run goes on with a copy of one. `folders` are those on
    other disks for some of the server's files, as in an experiment's `storage`.

    Raises
    ------
    HostUnfit : the message has the bytes needed and free.
    """
    needs: list[tuple[Path, int, str]] = [(workspace.runs, _CAPTURE_BYTES, "the captured data")]
    if build.local is not None:
        needs += _of_server(build, config, tables_bytes, folders or {}, workspace, copied=copied)
    if snapshot_bytes:
        needs.append((workspace.snapshots, snapshot_bytes, "the snapshot"))
    for disk in {nearest_existing(folder).stat().st_dev for folder, *_ in needs}:
        here = [need for need in needs if nearest_existing(need[0]).stat().st_dev == disk]
        place = nearest_existing(here[-1][0])
        needed, free = sum(wanted for _, wanted, _ in here), shutil.disk_usage(place).free
        if free < needed:
            what = " and ".join(what for *_, what in here)
            redo = redo_said(build, config) if build.local is not None else ""
            raise HostUnfit(
                f"not enough space in {place} for {what}: about {needed:,} bytes needed, {free:,} free"
                + (f"; of it, {redo}" if redo else ""),
                hint=("use a smaller redo log, " if redo else "")
                + "free space there, lower `scale` or the setup's rows, or put data/ on a larger disk (IBENCH_HOME)"
                + ("; or name other folders in `storage`" if folders else ""),
            )
    return [(place, wanted) for place, wanted, _ in needs]


def _of_server(
    build: AnyBuild,
    config: ServerConfig,
    tables_bytes: int,
    folders: Mapping[str, Path],
    workspace: Workspace,
    *,
    copied: bool,
) -> list[tuple[Path, int, str]]:
    """What the files of a server on this host need, disk by disk."""
    log_bytes, system_bytes = redo_bytes(build, config), _EMPTY_SERVER_BYTES
    data_bytes = needed_bytes(build, config, tables_bytes)
    if "redo" in folders and not copied:  # a copy of a snapshot has the redo log until it is moved
        data_bytes -= log_bytes
    if "system" in folders and flavour_of(build).tables_in_system(config):
        data_bytes, system_bytes = data_bytes - tables_bytes, system_bytes + tables_bytes
    parts = [(folders.get("data", workspace.sandboxes), data_bytes, "the server's data")]
    if "redo" in folders:
        parts.append((folders["redo"], log_bytes, "the redo log"))
    if "system" in folders:
        parts.append((folders["system"], system_bytes, "the system tablespace"))
    return parts


def redo_bytes(build: AnyBuild, config: ServerConfig) -> int:
    """The size of the redo log that a configuration asks a sandbox's server for; 0 if it leaves that to the server."""
    return 0 if build.local is None else flavour_of(build).log_bytes(config, build.local.release)


def redo_said(build: AnyBuild, config: ServerConfig) -> str:
    """Such as `137.4 GB of redo log (innodb_log_file_size=128G, cy10a.mariadb.cnf:17)`; empty if the server decides."""
    flavour = flavour_of(build)
    made_by = " x ".join(f"{option.key}={option.value}, {option.origin}" for option in flavour.log_options(config))
    return f"{redo_bytes(build, config) / 1e9:.1f} GB of redo log ({made_by})" if made_by else ""


def needed_bytes(build: AnyBuild, config: ServerConfig, tables_bytes: int) -> int:
    """About how much disk space a sandbox needs, given the size of its tables."""
    return tables_bytes + redo_bytes(build, config) + _EMPTY_SERVER_BYTES
