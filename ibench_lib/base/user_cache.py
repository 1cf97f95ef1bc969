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
