"""Whether a process stands still."""

from __future__ import annotations

from pathlib import Path

_STOPPED = ("T", "t")  # by a signal, by a debugger


def is_stopped(pid: int) -> bool:
    """As the kernel says; where it does not say, nobody is."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:  # it has ended, or this is no Linux
        return False
    return status.rpartition(")")[2].split()[:1] in [[letter] for letter in _STOPPED]
