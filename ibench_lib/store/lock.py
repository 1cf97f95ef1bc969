"""The lock of a run's journal: its holder writes the run. The lock ends with the process that holds it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

from ibench_lib.base.locks import is_locked
from ibench_lib.store.journal import FOLDER

_NAME = "lock"


def hold(run_dir: Path) -> IO[str] | None:
    """Take the lock, making it where there is none; None when somebody has it. It is held until closed."""
    path = run_dir / FOLDER / _NAME
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    file = open(descriptor, "r+", encoding="utf-8")  # noqa: SIM115  (kept open: it holds the lock)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def is_open(run_dir: Path) -> bool:
    """Whether a run has a journal: it is being written, or its writer died."""
    return (run_dir / FOLDER).is_dir() and not (run_dir / FOLDER).is_symlink()


def is_held(run_dir: Path) -> bool:
    """Whether somebody writes this run now."""
    return is_locked(run_dir / FOLDER / _NAME)
