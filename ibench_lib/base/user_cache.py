"""The cache folder of this user: what is in it was written by this user's own commands, and may be deleted at any time.

Standard library only, as `debian.py`.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def folder(name: str) -> Path | None:
    """The folder of this name in it, made if need be; None where nobody but this user may be sure to write."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    with suppress(OSError, RuntimeError):
        place = (Path(base) if base.startswith("/") else Path.home() / ".cache") / "ibench" / name
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = os.lstat(place)
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022:
            return place
    return None


def write(path: Path, content: bytes) -> None:
    """Write a file of the cache, which another process finds whole or not at all. Raises OSError."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def forget_oldest(place: Path, most_files: int, most_bytes: int | None = None) -> None:
    """Remove the files of a folder that were not written or used for longest, until it has no more. Raises OSError."""
    there = [(status.st_mtime_ns, status.st_size, path) for path in place.iterdir() for status in (path.lstat(),)]
    files, size = 0, 0
    for _, its_size, path in sorted(there, reverse=True):
        files, size = files + 1, size + its_size
        if files > most_files or (most_bytes is not None and size > most_bytes):
            path.unlink(missing_ok=True)
