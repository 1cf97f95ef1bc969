"""Loaded data directories set aside: `data/snapshots/<digest of the load settings>/`.

A directory is created 0700 and marked as ours first; `snapshot.json` is written last and names every file. Without it,
or with files that are not as it says, there is no snapshot. Whoever runs experiments holds the lock of the ledger, so
that nobody else is at work here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from ibench_lib.base.durable import sync_directory, write_atomically
from ibench_lib.errors import RunFailed
from ibench_lib.paths import Workspace
from ibench_lib.runner.snapshot.sharing import LoadSettings
from ibench_lib.servers.datadir import copy_datadir, depersonalise, write_through
from ibench_lib.store.manifest import SnapshotRecord

MARKER = ".ibench-snapshot"
RECORD = "snapshot.json"
_DATADIR = "datadir"
_BLOCK = 512  # the unit of st_blocks


class _Stored(BaseModel):
    """What snapshot.json says: the record, and the size of each file below the data directory."""

    record: SnapshotRecord
    files: dict[str, int]


@dataclass(frozen=True)
class Snapshot:
    """A whole snapshot."""

    datadir: Path
    record: SnapshotRecord


def find(workspace: Workspace, settings: LoadSettings) -> Snapshot | None:
    """The whole snapshot with exactly these load settings; None where there is none, or part of one."""
    home = workspace.snapshot_dir(settings.digest)
    try:
        stored = _Stored.model_validate_json((home / RECORD).read_bytes())
        whole = stored.record.settings == settings.values and _files(home / _DATADIR) == stored.files
    except (OSError, ValidationError):
        return None
    return Snapshot(home / _DATADIR, stored.record) if whole else None


def take(
    workspace: Workspace,
    datadir: Path,
    record: SnapshotRecord,
    to_empty: Collection[str] = (),
    personal: Collection[str] = (),
) -> Snapshot:
    """Move the data directory of a server that has ended into a new snapshot.

    Of its files `to_empty` get empty, and those that a pattern of `personal` fits go: they make a server that server.

    `record.bytes` is filled in. Parts of an earlier one with the same settings go.

    Raises
    ------
    RunFailed : it cannot be kept, such as for want of room on another disk.
    """
    home = workspace.snapshot_dir(record.digest)
    _remove(home)
    try:
        workspace.snapshots.mkdir(mode=0o700, parents=True, exist_ok=True)
        home.mkdir(mode=0o700)
        (home / MARKER).touch()
        _move(datadir, home / _DATADIR, personal)
        depersonalise(home / _DATADIR, personal)
        for path in (home / _DATADIR / name for name in to_empty):
            if path.is_file():
                os.truncate(path, 0)
        write_through(home / _DATADIR)
        record.bytes = sum(path.lstat().st_blocks * _BLOCK for path in (home / _DATADIR).rglob("*"))
        stored = _Stored(record=record, files=_files(home / _DATADIR))
        write_atomically(home / RECORD, stored.model_dump_json(indent=1).encode())
        sync_directory(workspace.snapshots)
    except OSError as error:
        raise RunFailed(f"snapshot {home}: {error}", hint="free space on its disk") from error
    return Snapshot(home / _DATADIR, record)


def sweep(folder: Path, wanted: Collection[str] = ()) -> list[Path]:
    """Remove the snapshots in a folder but whole ones with the digests `wanted`; returns what went.

    A directory without our marker is left alone.
    """
    homes = sorted(folder.iterdir()) if folder.is_dir() else []
    kept = {home for home in homes if home.name in wanted and (home / RECORD).is_file()}
    return [home for home in homes if home not in kept and _remove(home)]


def _remove(home: Path) -> bool:
    """Delete what is ours. The record goes first and the marker last, so that half of it is neither used nor left."""
    if home.is_symlink() or not (home / MARKER).is_file():
        return False
    (home / RECORD).unlink(missing_ok=True)
    shutil.rmtree(home / _DATADIR, ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)
    return not home.exists()


def _move(datadir: Path, target: Path, personal: Collection[str]) -> None:
    try:
        datadir.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copy_datadir(datadir, target, personal)
        shutil.rmtree(datadir)


def _files(datadir: Path) -> dict[str, int]:
    """Size of each file, by its path below the data directory."""
    sizes = {}
    for root, _, names in os.walk(datadir):
        for name in names:
            path = Path(root, name)
            with contextlib.suppress(FileNotFoundError):
                sizes[str(path.relative_to(datadir))] = path.lstat().st_size
    return sizes
