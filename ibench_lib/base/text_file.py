"""Files that a user has named, or that came with a run: never a device or a pipe, which may have no end."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

_NO_FILE = "not a file, but a folder, a device or a pipe"
_LINK = "a symbolic link, which is not followed"


class NotReadable(Exception):
    """Why a file cannot be read, in one line without its name."""


def open_regular(path: Path, *, follow: bool = True, inside: int | None = None) -> BufferedReader:
    """Open a regular file for reading. `follow`: a symbolic link is what it points to; else it is refused.

    `inside` is the descriptor of the folder that a relative path begins in.

    Raises
    ------
    NotReadable : it is of another kind, or the system refuses.
    FileNotFoundError : there is none.
    """
    # Opening a pipe without a writer would wait for one.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags, dir_fd=inside)
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise NotReadable(_LINK if error.errno == errno.ELOOP and not follow else reason) from error
    except ValueError as error:  # a name with a NUL in it
        raise NotReadable(str(error)) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotReadable(_NO_FILE)
    return open(descriptor, "rb")


def read_beginning(path: Path, most_bytes: int, *, follow: bool = True) -> bytes:
    """The first bytes of a regular file. Raises NotReadable and FileNotFoundError as `open_regular` does."""
    with open_regular(path, follow=follow) as file:
        try:
            return file.read(most_bytes)
        except OSError as error:
            raise NotReadable(error.strerror or type(error).__name__) from error


def read_text(path: Path, most_bytes: int, *, follow: bool = True) -> str:
    """The text of a regular file in UTF-8, without a byte order mark; line ends are not changed.

    Raises
    ------
    NotReadable : it is of another kind, too large, or not UTF-8.
    FileNotFoundError : there is none.
    """
    content = read_beginning(path, most_bytes + 1, follow=follow)
    if len(content) > most_bytes:
        raise NotReadable(f"over {most_bytes // 1_000_000} MB, too large for a file of this kind")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotReadable(f"byte {error.start + 1} is not UTF-8") from error
