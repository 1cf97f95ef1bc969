"""Locks of files and folders. A lock ends with the process that holds it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def is_locked(path: Path) -> bool:
    """Whether a process holds this file's lock; False as well where there is no such file."""
    try:
        # A pipe in its place would be waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        finally:
            os.close(descriptor)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Makes the folder if need be and holds its lock, once no other process does. Leaves no file behind."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
