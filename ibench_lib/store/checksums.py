"""Which files have been compared with their checksum and read, so that unchanged files are not read again.

A file counts as untouched while device, inode, size, modification and change time are the same: the change time
cannot be set back without privileges. The list is a cache: without it everything is compared again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from io import BufferedReader
from pathlib import Path

_FILE_NAME = ".verified.json"
_RULES = 1  # of `store.contents`: what fewer rules have found good is looked at again
YOUNG_NS = 2_000_000_000
"""A file that changes again within the clock's resolution keeps its times, so younger files are not remembered."""


class VerifiedFiles:
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

    def knows(self, path: Path, status: os.stat_result, sha256: str) -> bool:
        """Whether the file was found good before, with this checksum, and has not changed since."""
        return self._known.get(_key(path)) == _stamp(status, sha256)

    def remember(self, path: Path, status: os.stat_result, sha256: str) -> None:
        """Note that the file had this checksum and rows of its table when the system said this of it."""
        if time.time_ns() - status.st_ctime_ns > YOUNG_NS:
            self._known[_key(path)] = _stamp(status, sha256)
            self._changed = True

    def save(self) -> None:
        """Store what was compared for the next time, if possible."""
        if self._path is None or not self._changed:
            return
        temporary = self._path.with_name(f"{_FILE_NAME}.{os.getpid()}")
        with contextlib.suppress(OSError):
            temporary.write_text(json.dumps(self._known), encoding="utf-8")
            os.replace(temporary, self._path)


def is_sha256_of(file: BufferedReader, sha256: str) -> bool:
    """Whether the content of an open file has this checksum."""
    return hashlib.file_digest(file, "sha256").hexdigest() == sha256


def _key(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _stamp(status: os.stat_result, sha256: str) -> list[object]:
    changed = (status.st_mtime_ns, status.st_ctime_ns)
    return [status.st_dev, status.st_ino, status.st_size, *changed, sha256, _RULES]
