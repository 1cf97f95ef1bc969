"""A file of /proc that is read again and again."""

from __future__ import annotations

import os

_AT_ONCE = 1 << 16


class ProcFile:
    """Kept open: the kernel makes its text again for each read from the beginning. Closed with the object.

    Raises
    ------
    OSError : it is not there, or not ours to read; when reading, its process has ended.
    """

    def __init__(self, path: str) -> None:
        self._descriptor = -1
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Safe to call more than once."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def read(self) -> bytes:
        """All of it as it is now."""
        parts: list[bytes] = []
        offset = 0
        # The kernel hands out whole lines and stops short of the size asked for, so only nothing is the end.
        while part := os.pread(self._descriptor, _AT_ONCE, offset):
            parts.append(part)
            offset += len(part)
        return b"".join(parts)
