"""Whether what a lake answers may have changed: a digest of its runs, the library, and where Python finds packages.

It has the name, inode, size and change time of every file of every run. So a new, changed, removed, excluded or
annotated run, or an updated library, gives another digest, and no earlier digest comes back.

Standard library only: what prints a kept output imports it.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ibench_lib.paths import PACKAGE, Workspace

if TYPE_CHECKING:
    import duckdb

YOUNG_NS = 2_000_000_000
"""A file that changes again within the clock's resolution keeps its times: younger ones may not show a change."""

_JOURNAL = "journal"
"""In the folder of a run that is written, or whose writer died: it changes without any file that does."""

_STATES: WeakKeyDictionary[duckdb.DuckDBPyConnection, str] = WeakKeyDictionary()


def state_of(here: Workspace) -> str | None:
    """The digest of a workspace's runs and experiments, and of the code that reads them.

    None where they may change without showing it: a run is being written, or was changed a moment ago.
    """
    packages = [(place, changed) for place in sys.path if place and (changed := _changed(place)) is not None]
    digest, youngest = hashlib.blake2b(f"{sys.version} {packages}".encode(errors="surrogateescape")), 0
    for folder in (here.runs, here.sample, here.root / "experiments", PACKAGE):
        digest.update(f"\n{folder}\n".encode(errors="surrogateescape"))
        for path, status in _everything_in(folder):
            seen: tuple[int, ...] = (status.st_mode, status.st_ino)
            if not stat.S_ISDIR(status.st_mode):
                seen += (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
                youngest = max(youngest, status.st_ctime_ns)
            elif os.path.basename(path) == _JOURNAL and folder is not PACKAGE:
                return None
            digest.update(f"{path} {seen}\n".encode(errors="surrogateescape"))
    return None if time.time_ns() - youngest < YOUNG_NS else digest.hexdigest()


def remember_state(lake: duckdb.DuckDBPyConnection, state: str) -> None:
    """Note the digest of what a lake was opened with."""
    _STATES[lake] = state


def remembered_state(lake: duckdb.DuckDBPyConnection) -> str | None:
    """The digest of what a lake was opened with; None if nobody noted it."""
    return _STATES.get(lake)


def forget_state(lake: duckdb.DuckDBPyConnection) -> None:
    """From now on a lake may answer something else than what was in its files: somebody has its connection."""
    _STATES.pop(lake, None)


def _everything_in(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Each file and folder below a folder, in an order that stays; links are not followed."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        for name in [*folders, *sorted(files)]:
            path = os.path.join(place, name)
            with suppress(FileNotFoundError):
                yield path, os.lstat(path)


def _changed(place: str) -> int | None:
    """When something was added to a folder of packages, or removed from it; None if there is no such folder."""
    try:
        return os.stat(place).st_mtime_ns
    except OSError:
        return None
