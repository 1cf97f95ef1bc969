"""Whether somebody holds the lock of a file. A lock ends with the process that holds it."""

from __future__ import annotations

import fcntl
import os
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
