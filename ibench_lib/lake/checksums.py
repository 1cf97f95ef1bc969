"""Which files have been compared with their checksum, so that unchanged files are not compared again.

A file counts as untouched while device, inode, size, modification and change time are the same: the change time
cannot be set back without privileges. The list is a cache: without it everything is compared again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path

_FILE_NAME = ".verified.json"
YOUNG_NS = 2_000_000_000
"""A file that changes again within the clock's resolution keeps its times, so younger files are not remembered."""


class Verified:
    """The list of one lake. `directory` is where it is kept; None remembers nothing."""

    def __init__(self, directory: Path | None) -> None:
        self._path = directory / _FILE_NAME if directory is not None else None
        self._loaded: dict[str, list[object]] | None = None
        self._changed = False

    @property
    def _known(self) -> dict[str, list[object]]:
        """Read when it is first needed: where the index knows all runs, it is not."""
        if self._loaded is None:
            self._loaded = {}
            # A cache that cannot be read counts as empty.
            with contextlib.suppress(Exception):
                loaded = json.loads(self._path.read_text(encoding="utf-8")) if self._path is not None else {}
                self._loaded = loaded if isinstance(loaded, dict) else {}
        return self._loaded

    def holds(self, path: Path, sha256: str) -> bool:
        """Whether the file's content has this checksum. Raises OSError where it cannot be read."""
        status = path.stat()
        stamp: list[object] = [
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            sha256,
        ]
        key = f"{path.parent.name}/{path.name}"
        if self._known.get(key) == stamp:
            return True
        with open(path, "rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                return False
        if time.time_ns() - status.st_ctime_ns > YOUNG_NS:
            self._known[key] = stamp
            self._changed = True
        return True

    def save(self) -> None:
        """Store what was compared for the next time, if possible."""
        if self._path is None or not self._changed:
            return
        temporary = self._path.with_name(f"{_FILE_NAME}.{os.getpid()}")
        with contextlib.suppress(OSError):
            temporary.write_text(json.dumps(self._known), encoding="utf-8")
            os.replace(temporary, self._path)
