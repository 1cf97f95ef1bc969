"""The private directory of a sandbox: claimed under a lock, marked as ours, and removed after a runner was killed.

The directory is created 0700 and carries a marker file that this module alone writes and keeps locked while the sandbox
lives. Only a directory with that marker is ever deleted, and only when nobody holds its lock. So it is with the folders
that a sandbox has on other disks: the marker names them, and each has a marker that names the sandbox. What cannot be
deleted now, such as a folder on a disk that is not mounted, stays in the marker for the next sweep. A marker is written
before what it names is made, and deleted after it, so that a kill at any moment leaves nothing that no marker names.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import stat
import string
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO

from ibench_lib.base.scratch import YOUNG_S, remove_marked
from ibench_lib.errors import HostUnfit, ServerStartDisturbed
from ibench_lib.servers.flavours import flavour as flavours

MARKER = ".ibench-sandbox"
FILES_MARKER = ".ibench-sandbox-files"
"""Of a folder that a sandbox has on another disk."""

_PREFIX = "ibench-"
_SOCKET_PREFIX = f"{_PREFIX}s-"
"""Not that of scratch directories: an empty one without a marker is removed when it is a minute old (`sweep_scratch`),
and a server may take longer until it makes its socket."""

_LETTERS = string.ascii_lowercase + string.digits
_LONG = 70
"""A folder whose path has so many bytes is too deep for a socket: some servers name theirs at some length."""


class Claim:
    """A directory that is ours until `release`, a folder for the socket, and a private folder in each of `disks`.

    Raises
    ------
    ServerStartDisturbed : the directory already exists.
    HostUnfit : a private folder cannot be made in one of `disks`.
    """

    def __init__(self, directory: Path, disks: Iterable[Path] = ()) -> None:
        self.directory = directory
        self.elsewhere = [private_folder(disk, directory) for disk in dict.fromkeys(disks)]
        try:
            self._devices = [folder.parent.stat().st_dev for folder in self.elsewhere]
        except OSError as error:
            raise _unfit(error) from error
        directory.parent.mkdir(parents=True, exist_ok=True)
        try:
            directory.mkdir(mode=0o700)
        except FileExistsError:
            raise ServerStartDisturbed(
                f"sandbox directory {directory} already exists{_holder(directory)}",
                hint="wait for the run that holds it, or remove a directory that does not belong to ibench",
            ) from None
        # A short path of its own: a socket's path may have at most 107 bytes, a project may lie deep.
        own = tempfile.gettempdir()
        letters = "".join(secrets.choice(_LETTERS) for _ in range(8))
        self.socket_dir = Path(own if len(os.fsencode(own)) < _LONG else "/tmp", _SOCKET_PREFIX + letters)
        named = list(zip(map(str, self.elsewhere), self._devices, strict=True))
        self._lock = _write_marker(directory, self.socket_dir, named)
        self._has_socket_dir = False
        try:
            self.socket_dir.mkdir(mode=0o700)
            self._has_socket_dir = True
            for folder in self.elsewhere:
                folder.mkdir(mode=0o700)
                write_private(folder / FILES_MARKER, json.dumps({"sandbox": str(directory)}))
        except OSError as error:
            self.release()
            raise _unfit(error) from error

    def release(self) -> None:
        """Delete all of it, then let go of the lock."""
        if self._has_socket_dir:  # else somebody else has one of that name
            shutil.rmtree(self.socket_dir, ignore_errors=True)
        # All of them, whichever of them stay.
        named = zip(self.elsewhere, self._devices, strict=True)
        gone = [_remove_elsewhere(folder, device, self.directory) for folder, device in named]
        if all(gone):
            with suppress(OSError):
                remove_marked(self.directory, MARKER)
        self._lock.close()


def sweep(sandboxes: Path) -> list[Path]:
    """Remove sandboxes whose runner is dead; returns their names.

    A directory without our marker is left alone, but for an empty one: its runner was killed before it wrote the
    marker, or after it deleted it. One whose folders on other disks cannot all be removed stays, for the next time.
    """
    removed = []
    for directory in sorted(sandboxes.iterdir()) if sandboxes.is_dir() else []:
        marker = directory / MARKER
        if _is_left_empty(directory):
            with suppress(OSError):
                directory.rmdir()
                removed.append(directory)
        if directory.is_symlink() or marker.is_symlink() or not marker.is_file():
            continue
        with open(marker, "r+", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            text = lock.read()
            _remove_socket_dir(_named_socket_dir(text), directory)
            _free_memory([directory, *(folder / "data" for folder, _ in _named_elsewhere(text))])
            gone = [_remove_elsewhere(folder, device, directory) for folder, device in _named_elsewhere(text)]
            if all(gone):
                with suppress(OSError):
                    remove_marked(directory, MARKER)
                removed.append(directory)
    return removed


def _free_memory(homes: Iterable[Path]) -> None:
    """Free what servers of a sandbox have left in the kernel's memory. Which flavour they were, nobody has written."""
    for datadir in (home / "datadir" for home in homes):
        if datadir.is_dir():
            for flavour in flavours.every():
                flavour.free_memory(datadir)


def _is_left_empty(directory: Path) -> bool:
    """Whether it is an empty directory of ours, and too old to be about to get its marker."""
    facts = directory.lstat()
    ours = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid()
    return ours and time.time() - facts.st_mtime >= YOUNG_S and not any(directory.iterdir())


def private_folder(disk: Path, directory: Path) -> Path:
    """The folder that a sandbox's directory gets on another disk."""
    return disk / f"{_PREFIX}{directory.name}"


def write_private(path: Path, text: str) -> None:
    """A new file that only we can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _holder(directory: Path) -> str:
    """Who holds a sandbox directory, for a message."""
    try:
        with open(directory / MARKER, "r+", encoding="utf-8") as marker:
            try:
                fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return f", held by process {json.load(marker)['pid']}"
    except (OSError, ValueError, KeyError):
        return " and does not belong to ibench"
    return ", left behind by a process that was killed"


def _named_socket_dir(marker_text: str) -> Path | None:
    try:
        return Path(json.loads(marker_text)["socket_dir"])
    except (ValueError, KeyError, TypeError):
        return None


def _remove_socket_dir(path: Path | None, directory: Path) -> None:
    if path is None:
        return
    try:
        status = path.lstat()
        ours = path.name.startswith(_PREFIX) and _is_of(status, directory) and not path.is_symlink()
        if ours and all(map(_belongs_to_socket, path.iterdir())):
            shutil.rmtree(path, ignore_errors=True)
    except OSError:
        return


def _belongs_to_socket(entry: Path) -> bool:
    """Whether it is a socket, or what servers put next to it."""
    mode = entry.lstat().st_mode
    return entry.name in ("s", "s.lock") or stat.S_ISSOCK(mode) or entry.name.endswith(".lock")


def _is_of(status: os.stat_result, directory: Path) -> bool:
    """Whether a file is ours, or of the account that the server of a sandbox ran as, which has the sandbox."""
    return status.st_uid in (os.geteuid(), directory.lstat().st_uid)


def _named_elsewhere(marker_text: str) -> list[tuple[Path, int]]:
    """The folders on other disks that a sandbox's marker names, each with the device that it was made on."""
    try:
        return [(Path(path), int(device)) for path, device in json.loads(marker_text)["elsewhere"]]
    except (ValueError, KeyError, TypeError):
        return []


def _remove_elsewhere(folder: Path, device: int, directory: Path) -> bool:
    """Delete a sandbox's folder on another disk, if it is marked as that. Whether nothing of ours is left there."""
    try:
        mounted = folder.parent.stat().st_dev == device
        if not folder.exists():
            return mounted
        if folder != private_folder(folder.parent, directory) or folder.is_symlink():
            return True
        if not _is_of(folder.stat(), directory):
            return True
        marker = folder / FILES_MARKER
        text = marker.read_text(encoding="utf-8") if marker.is_file() else ""
        if text and not _names(text, directory):
            return True
        if text:
            remove_marked(folder, FILES_MARKER)
        else:
            marker.unlink(missing_ok=True)
            folder.rmdir()  # a folder without a marker goes only if it is empty
    except OSError:
        return False
    return True


def _names(marker_text: str, directory: Path) -> bool:
    try:
        return bool(json.loads(marker_text)["sandbox"] == str(directory))
    except (ValueError, KeyError, TypeError):
        return False


def _unfit(error: OSError) -> HostUnfit:
    return HostUnfit(
        f"no private folder can be made for the server's files: {error}",
        hint="`storage` in the experiment file names folders that exist and that you may write to",
    )


def _write_marker(directory: Path, socket_dir: Path, elsewhere: list[tuple[str, int]]) -> IO[str]:
    marker = open(directory / MARKER, "x", encoding="utf-8")  # noqa: SIM115  (kept open: it holds the lock)
    fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
    json.dump({"socket_dir": str(socket_dir), "elsewhere": elsewhere, "pid": os.getpid()}, marker)
    marker.flush()
    return marker
