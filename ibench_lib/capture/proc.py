"""Files of /proc: one that is read again and again, and those that say which processes another one has started."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

_AT_ONCE = 1 << 16
_CHILDREN = "/proc/{pid}/task/{pid}/children"
_PARENT = 1  # of /proc/<pid>/stat, from the field after the name
_TITLE = re.compile(r"[\w.-]+: (?P<does>\S.*)")
_FROM_WHERE = re.compile(r"[\[(]")
_NUMBER = re.compile(r"\s*\d+$")
_PROCESS = re.compile(r" process(?:\s.*)?$")
_ATTEMPTS = 3


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


def children_of(pid: int) -> list[int]:
    """The processes that a process has started and that live; none of one that has ended.

    A kernel without lists of children (CONFIG_PROC_CHILDREN) is asked for the parent of each process instead.
    """
    if _lists_children():
        try:
            with open(_CHILDREN.format(pid=pid), "rb", buffering=0) as file:
                return [int(child) for child in file.read().split()]
        except OSError:
            return []
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _parent_of(name) == pid]


def threads_of(pid: int, children: Iterable[int]) -> Iterator[str]:
    """The folder of each thread of a process and of its children. Raises OSError if the process has ended."""
    for process in (pid, *children):
        task = f"/proc/{process}/task"
        try:
            yield from (f"{task}/{thread}" for thread in os.listdir(task))
        except OSError:
            if process == pid:
                raise


def with_all_of(pid: int, act: Callable[[list[int]], tuple[int, str]]) -> tuple[int, str]:
    """What `act` returns of a process and its children, a status and what was said.

    It is done again, three times in all, if it fails while one of them ends, as short ones do at any time.
    """
    for last in (*[False] * (_ATTEMPTS - 1), True):
        processes = [pid, *children_of(pid)]
        status, said = act(processes)
        if status == 0 or last or all(os.path.exists(f"/proc/{process}") for process in processes):
            break
    return status, said


def role_of(pid: int, database: str) -> str | None:
    """What a process does by its own title, such as `postgres: autovacuum worker <database>`; None if it has none.

    A process whose title says where its client is has the role `connections`. Older servers write "process", and the
    database, behind what a process of theirs does, which is left out.
    """
    try:
        with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:
            title = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return None  # it has ended
    match = _TITLE.fullmatch(title)
    if match is None:
        return None
    does = match["does"]
    if _FROM_WHERE.search(does):
        return "connections"
    named = _PROCESS.sub("", does.removesuffix(f" {database}"))
    return _NUMBER.sub("", named) or None


@cache
def _lists_children() -> bool:
    return os.path.exists(_CHILDREN.format(pid=os.getpid()))


def _parent_of(process: str) -> int | None:
    try:
        with open(f"/proc/{process}/stat", "rb", buffering=0) as file:
            text = file.read()
    except OSError:
        return None  # it ended in between
    return int(text[text.rindex(b")") + 1 :].split()[_PARENT])
