"""The private directory of a sandbox: claimed under a lock, marked as ours, and removed after a runner was killed.

The directory is created 0700 and carries a marker file that this module alone writes and keeps locked while the sandbox
lives. Only a directory with that marker is ever deleted, and only when nobody holds its lock. So it is with the folders
that a sandbox has on other disks: the marker names them, and each has a marker that names the sandbox.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from ibench_lib.errors import HostUnfit, ServerStartDisturbed

MARKER = ".ibench-sandbox"
_PREFIX = "ibench-"
_LONG = 80


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
        self.socket_dir = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=own if len(own) < _LONG else "/tmp"))
        self._lock = _write_marker(directory, self.socket_dir, self.elsewhere)
        try:
            for folder in self.elsewhere:
                folder.mkdir(mode=0o700)
                write_private(folder / MARKER, json.dumps({"sandbox": str(directory)}))
        except OSError as error:
            self.release()
            raise HostUnfit(
                f"no private folder can be made for the server's files: {error}",
                hint="`storage` in the experiment file names folders that exist and that you may write to",
            ) from error

    def release(self) -> None:
        """Delete all of it, then let go of the lock."""
        shutil.rmtree(self.socket_dir, ignore_errors=True)
        for folder in self.elsewhere:
            _remove_elsewhere(folder, self.directory)
        shutil.rmtree(self.directory, ignore_errors=True)
        self._lock.close()


def sweep(sandboxes: Path) -> list[Path]:
    """Remove sandboxes whose runner is dead; returns their names. A directory without our marker is left alone."""
    removed = []
    for directory in sorted(sandboxes.iterdir()) if sandboxes.is_dir() else []:
        marker = directory / MARKER
        if directory.is_symlink() or marker.is_symlink() or not marker.is_file():
            continue
        with open(marker, "r+", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            text = lock.read()
            _remove_socket_dir(text)
            for folder in _named_elsewhere(text):
                _remove_elsewhere(folder, directory)
            shutil.rmtree(directory, ignore_errors=True)
            removed.append(directory)
    return removed


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


def _remove_socket_dir(marker_text: str) -> None:
    try:
        path = Path(json.loads(marker_text)["socket_dir"])
        status = path.lstat()
    except (ValueError, KeyError, TypeError, OSError):
        return
    ours = path.name.startswith(_PREFIX) and status.st_uid == os.getuid() and not path.is_symlink()
    if ours and {entry.name for entry in path.iterdir()} <= {"s", "s.lock"}:
        shutil.rmtree(path, ignore_errors=True)


def _named_elsewhere(marker_text: str) -> list[Path]:
    """The folders on other disks that a sandbox's marker names."""
    try:
        return [Path(text) for text in json.loads(marker_text)["elsewhere"]]
    except (ValueError, KeyError, TypeError):
        return []


def _remove_elsewhere(folder: Path, directory: Path) -> None:
    """Delete a sandbox's folder on another disk, if its marker says that it is that."""
    try:
        named = json.loads((folder / MARKER).read_text(encoding="utf-8"))["sandbox"]
        ours = folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
    except (OSError, ValueError, KeyError, TypeError):
        return
    if ours and folder == private_folder(folder.parent, directory) and named == str(directory):
        shutil.rmtree(folder, ignore_errors=True)


def _write_marker(directory: Path, socket_dir: Path, elsewhere: Iterable[Path]) -> IO[str]:
    marker = open(directory / MARKER, "x", encoding="utf-8")  # noqa: SIM115  (kept open: it holds the lock)
    fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
    content = {"socket_dir": str(socket_dir), "elsewhere": [str(folder) for folder in elsewhere], "pid": os.getpid()}
    json.dump(content, marker)
    marker.flush()
    return marker
