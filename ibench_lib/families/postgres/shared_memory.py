"""The kernel's memory of a PostgreSQL that was killed: the server itself would free it at its next start.

Each server has a segment of System V (56 bytes, the lock of its data directory), and a file in /dev/shm that lists
others (about 1 MB). A clean or immediate shutdown frees them; SIGKILL leaves them until the machine starts again.
"""

from __future__ import annotations

import contextlib
import ctypes
import stat
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SEGMENTS = Path("/proc/sysvipc/shm")
_POSIX = Path("/dev/shm")

_POLL_S = 0.05
_MOST_BYTES = 4096  # of a postmaster.pid
_RMID, _RDONLY = 0, 0o10000

# The head of the segment: magic, process, size, free, number of the list, (a pointer), device and inode of the folder.
_HEAD = struct.Struct("<iiQQI4xQQQ")
_HEAD_MAGIC = 679834894
# The list: magic, entries, room; then an entry for each file: its number, and how many processes use it.
_LIST, _LIST_MAGIC = struct.Struct("<III4x"), 0x9A503D32
_ENTRY_BYTES = {9: 8, 12: 24, 13: 24}
_ENTRY_BYTES_SINCE_14 = 40
_ENTRIES_AT = {9: 12}
"""Where the entries begin: behind what is unused, which the small ones of 9.6 do not need."""


@dataclass(frozen=True)
class _Segment:
    """A segment as the kernel lists it, of the server that a data directory names."""

    id: int
    attached: int


def free(datadir: Path, wait_s: float = 0.0) -> None:
    """Free what a killed server of a data directory has left in the kernel's memory. Never raises.

    It is proven to be its own: postmaster.pid has the segment's number and key, and its process made the segment, as
    the owner of that file. Nobody may use it; its last processes are waited for, at most `wait_s`.
    """
    deadline = time.monotonic() + wait_s
    try:
        while (segment := _segment_of(datadir)) is not None and segment.attached and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        if segment is None or segment.attached:
            return
        number = _list_of(datadir, segment.id)
        if number is None:
            return
        with contextlib.suppress(OSError, ValueError, struct.error):  # a damaged list: the segment goes all the same
            for path in _files_of(datadir, number):
                path.unlink(missing_ok=True)
        _libc().shmctl(segment.id, _RMID, None)
    except (OSError, ValueError):
        return


def _segment_of(datadir: Path) -> _Segment | None:
    """The segment that postmaster.pid names, if that process made it as the owner of that file; else None."""
    path = datadir / "postmaster.pid"
    if not path.exists():
        return None
    facts = path.lstat()
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MOST_BYTES or not _SEGMENTS.exists():
        return None
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    if len(lines) < 7:
        return None  # it was killed before it had any
    pid, (key, number) = int(lines[0]), map(int, lines[6].split())
    names, *rows = (line.split() for line in _SEGMENTS.read_text().splitlines())
    for row in rows:
        of = dict(zip(names, map(int, row), strict=False))
        same_key = (of["key"] - key) % 2**32 == 0  # the server writes it without a sign
        if same_key and (of["shmid"], of["cpid"], of["uid"], of["cuid"]) == (number, pid, *2 * [facts.st_uid]):
            return _Segment(number, of["nattch"])
    return None


def _list_of(datadir: Path, segment: int) -> int | None:
    """The number of the list of the server's files, as the head of a segment says; None if it is of another folder."""
    libc = _libc()
    address = libc.shmat(segment, None, _RDONLY)
    if address in (None, ctypes.c_void_p(-1).value):
        return None
    try:
        magic, _, _, _, number, _, device, inode = _HEAD.unpack(ctypes.string_at(address, _HEAD.size))
    finally:
        libc.shmdt(address)
    home = datadir.stat()
    is_its_own = magic == _HEAD_MAGIC and (device, inode) == (home.st_dev, home.st_ino)
    return int(number) if is_its_own else None


def _files_of(datadir: Path, number: int) -> Iterator[Path]:
    """The server's files in memory, of the list with a number, which comes last."""
    home = datadir.stat()
    listing = _owned(number, home.st_uid)
    if listing is None:
        return
    version = int((datadir / "PG_VERSION").read_text(encoding="ascii").split(".")[0])
    data = listing.read_bytes()
    magic, entries, room = _LIST.unpack_from(data)
    if magic == _LIST_MAGIC and entries <= room:
        for place in range(entries):
            at = _ENTRIES_AT.get(version, _LIST.size) + place * _ENTRY_BYTES.get(version, _ENTRY_BYTES_SINCE_14)
            other, users = struct.unpack_from("<II", data, at)
            path = _owned(other, home.st_uid) if users else None
            if path is not None and path != listing:
                yield path
    yield listing


def _owned(number: int, user: int) -> Path | None:
    """A server's file in memory by its number, if it is a file of this user."""
    path = _POSIX / f"PostgreSQL.{number}"
    try:
        facts = path.lstat()
    except FileNotFoundError:
        return None
    return path if stat.S_ISREG(facts.st_mode) and facts.st_uid == user else None


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
    libc.shmdt.argtypes = [ctypes.c_void_p]
    libc.shmctl.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
    return libc
