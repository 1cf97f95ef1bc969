"""Files that a user has named: never a device or a pipe, which may have no end."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_NO_FILE = "not a file, but a folder, a device or a pipe"


class NotReadable(Exception):
    """Why a file cannot be read, in one line without its name."""


def read_beginning(path: Path, most_bytes: int) -> bytes:
    """The first bytes of a regular file.

    Raises
    ------
    NotReadable : it is of another kind, or the system refuses.
    FileNotFoundError : there is none.
    """
    try:
        # Opening a pipe without a writer would wait for one.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise NotReadable(_NO_FILE)
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(most_bytes)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise NotReadable(error.strerror or type(error).__name__) from error
    except ValueError as error:  # a name with a NUL in it
        raise NotReadable(str(error)) from error


def read_text(path: Path, most_bytes: int) -> str:
    """The text of a regular file in UTF-8, without a byte order mark; line ends are not changed.

    Raises
    ------
    NotReadable : it is of another kind, too large, or not UTF-8.
    FileNotFoundError : there is none.
    """
    content = read_beginning(path, most_bytes + 1)
    if len(content) > most_bytes:
        raise NotReadable(f"over {most_bytes // 1_000_000} MB, too large for a file of this kind")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotReadable(f"byte {error.start + 1} is not UTF-8") from error
