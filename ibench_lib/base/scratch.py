"""Temporary directories that do not outlive their process for long: the next process removes those of dead ones.

Each has a marker file that its maker keeps locked while it lives. The marker is locked before it gets its name: one
that nobody holds is that of a dead process. Only a directory of ours with such a marker is ever removed; or, once it is
a minute old, one whose maker had no time to mark it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MARKER = ".ibench-scratch"
UNNAMED = f"{MARKER}.new"
"""The marker while it is not locked yet."""

YOUNG_S = 60.0
"""A directory without a marker is left alone while it is younger: its maker may be about to mark it."""

PREFIX = "ibench-"
"""What the names of those below $TMPDIR begin with."""


@contextmanager
def scratch_directory(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A private directory below $TMPDIR, or another parent, removed when this ends."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        with open(folder / UNNAMED, "x", encoding="utf-8") as marker:
            fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(folder / UNNAMED, folder / MARKER)
            yield folder
    finally:
        with suppress(OSError):
            remove_marked(folder)


def remove_marked(folder: Path, marker: str = MARKER) -> None:
    """Delete a directory, its marker last: who is killed halfway leaves what is still known as ours. Raises OSError."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != marker:
            path.unlink()
    (folder / marker).unlink(missing_ok=True)
    folder.rmdir()


def sweep_scratch(prefix: str = PREFIX, parent: Path | None = None) -> list[Path]:
    """Remove directories of that prefix whose process is dead; returns what was removed."""
    removed = []
    for folder in sorted((parent or Path(tempfile.gettempdir())).glob(f"{prefix}*")):
        try:
            if _is_dead(folder):
                remove_marked(folder)
            elif _was_never_marked(folder, prefix):
                (folder / UNNAMED).unlink(missing_ok=True)
                folder.rmdir()  # of an empty one only
            else:
                continue
            removed.append(folder)
        except OSError:
            continue  # somebody else's, or just gone
    return removed


def _is_dead(folder: Path) -> bool:
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        return False
    try:
        descriptor = os.open(folder / MARKER, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _was_never_marked(folder: Path, prefix: str) -> bool:
    """Whether it is as `tempfile` makes one, private and of such a name, and nobody has put a marker into it by now."""
    status = folder.lstat()
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.geteuid()
        and stat.S_IMODE(status.st_mode) == 0o700
        and re.fullmatch("[a-z0-9_]{8}", folder.name.removeprefix(prefix)) is not None
        and time.time() - status.st_ctime >= YOUNG_S
        and not (folder / MARKER).exists()
    )
