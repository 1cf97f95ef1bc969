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
) -> None:
    """Refuse a run whose files would fill a disk, before it writes any. `snapshot_bytes`: size of a snapshot to make.

    `folders` are those on other disks for some of the server's files, as in an experiment's `storage`.

    Raises
    ------
    HostUnfit : the message has the bytes needed and free.
    """
    needs: list[tuple[Path, int, str]] = [(workspace.runs, _CAPTURE_BYTES, "the captured data")]
    if build.local is not None:
        folders = folders or {}
        data, redo_bytes = folders.get("data", workspace.sandboxes), flavour_of(build).log_bytes(config)
        # The redo log begins in the data directory even if it does not stay there.
        needs.append((data, needed_bytes(build, config, tables_bytes), "the server's data"))
        if "redo" in folders:
            needs.append((folders["redo"], redo_bytes, "the redo log"))
        if "system" in folders:
            needs.append((folders["system"], _EMPTY_SERVER_BYTES, "the system tablespace"))
    if snapshot_bytes:
        needs.append((workspace.snapshots, snapshot_bytes, "the snapshot"))
    for disk in {nearest_existing(folder).stat().st_dev for folder, *_ in needs}:
        here = [need for need in needs if nearest_existing(need[0]).stat().st_dev == disk]
        place = nearest_existing(here[-1][0])
        needed, free = sum(wanted for _, wanted, _ in here), shutil.disk_usage(place).free
        if free < needed:
            what = " and ".join(what for *_, what in here)
            raise HostUnfit(
                f"not enough space in {place} for {what}: about {needed:,} bytes needed, {free:,} free",
                hint="free space there, lower `scale` or the setup's rows, or put data/ on a larger disk (IBENCH_HOME)",
            )


def needed_bytes(build: AnyBuild, config: ServerConfig, tables_bytes: int) -> int:
    """About how much disk space a sandbox needs, given the size of its tables."""
    return tables_bytes + flavour_of(build).log_bytes(config) + _EMPTY_SERVER_BYTES
