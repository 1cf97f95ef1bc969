"""The threads of a driven program and of what it has started: how much of a core the busiest one used."""

from __future__ import annotations

import contextlib
import os
import time

BUSY = 0.70
"""A thread that runs for so much of its time is at 70 % of what it could do with an infinitely fast server."""
MOST_PROCESSES = 256
"""So many of a program's processes are looked at."""
_EVERY_S, _LEAST_S = 0.5, 1.0


def children(pid: int, proc: str = "/proc") -> list[int]:
    """The child processes of one, also those that have ended; empty where the kernel does not say."""
    pids: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"{proc}/{pid}/task"):
            with open(f"{proc}/{pid}/task/{thread}/children", encoding="ascii") as file:
                pids += map(int, file.read().split())
    return pids


def runs(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(") ")[2][:1] not in ("Z", "X")
    except OSError:
        return False


class ProgramThreads:
    """CPU of the threads of a process and its descendants, from the first look at each to the last.

    It comes from `/proc/<pid>/task/*/schedstat`. Looks are half a second apart, however often `look` is called: the
    last one comes shortly before a thread ends. What lives for a shorter time is not seen.
    """

    def __init__(self, pid: int, proc: str = "/proc") -> None:
        self._pid, self._proc = pid, proc
        self._first: dict[str, tuple[float, int]] = {}
        self._last: dict[str, tuple[float, int]] = {}
        self._looked_at = -_EVERY_S

    def look(self) -> None:
        """Take in what the threads have used so far, if the last look is half a second ago."""
        now = time.monotonic()
        if now < self._looked_at + _EVERY_S:
            return
        self._looked_at = now
        processes = [self._pid]
        for pid in processes:
            processes += children(pid, self._proc)[: MOST_PROCESSES - len(processes)]
            self._look_at(f"{self._proc}/{pid}/task")

    def _look_at(self, tasks: str) -> None:
        try:
            threads = os.listdir(tasks)
        except OSError:
            return
        for thread in threads:
            try:
                with open(f"{tasks}/{thread}/schedstat", encoding="ascii") as file:
                    ran_ns = int(file.read().split()[0])
            except (OSError, ValueError, IndexError):  # it has just ended, or the kernel does not count
                continue
            self._first.setdefault(thread, (time.monotonic(), ran_ns))
            self._last[thread] = time.monotonic(), ran_ns

    @property
    def busiest(self) -> float | None:
        """The share of a core that the busiest thread used; None if the process was not seen for a second.

        Threads count that were seen for at least half of this time.
        """
        seen = {thread: self._last[thread][0] - at for thread, (at, _) in self._first.items()}
        longest = max(seen.values(), default=0.0)
        if longest < _LEAST_S:
            return None
        return max(
            (self._last[thread][1] - self._first[thread][1]) / 1e9 / seconds
            for thread, seconds in seen.items()
            if seconds >= longest / 2
        )
