"""The server's threads, once a second, by their name: CPU, and waiting for a CPU. From /proc/<pid>/task.

Of a server of several processes they are those of all of them; those that it has started are called by what their
titles say they do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from ibench_lib.capture.collector import Collector, Unavailable
from ibench_lib.capture.proc import children_of, role_of, threads_of

LEAST_NS = 1_000_000
"""What a name must have used or waited in an interval to have a row."""

_NUMBER = re.compile(r"[-_/:]?\d+$")


class Threads(Collector):
    """Rows are differences of two ticks: a thread that has ended takes its last part of a second with it."""

    name: ClassVar[str] = "threads"
    tables: ClassVar[tuple[str, ...]] = ("thread_samples",)

    def open(self) -> None:
        if self.scene.datadir is None and self.scene.server_pid() is None:
            raise Unavailable("the server is remote: its threads are on another host")
        if not os.path.exists("/proc/self/schedstat"):
            raise Unavailable("this kernel has no /proc/<pid>/schedstat (CONFIG_SCHED_INFO)")
        self._pid: int | None = None
        self._seen: dict[str, tuple[int, int]] = {}
        self._roles: dict[int, str] = {}
        self._read_s: float | None = None

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        pid = self.scene.server_pid()
        if pid != self._pid:
            self._pid, self._seen, self._roles, self._read_s = pid, {}, {}, None
        if pid is None:
            raise ProcessLookupError("the server has no process now")
        t_s, before_s = now_s(), self._read_s
        children = children_of(pid)
        roles = self._roles_of(children)
        rows = self._grown(list(threads_of(pid, children)), roles)
        self._read_s = t_s
        if before_s is not None:  # of a first look nothing is known but how much there was since the thread's start
            for row in rows:
                self.emit("thread_samples", tick=tick, t_s=t_s, seconds=t_s - before_s, **row)

    def _roles_of(self, children: Iterable[int]) -> dict[str, str]:
        """What the processes that the server has started do, by their folders. A title is read until there is one."""
        known = {}
        for child in children:
            role = self._roles.get(child) or role_of(child, self.scene.database)
            if role is not None:
                known[child] = role
        self._roles = known
        return {f"/proc/{child}": role for child, role in known.items()}

    def _grown(self, threads: Iterable[str], roles: Mapping[str, str]) -> list[dict[str, Any]]:
        """What each name has used since the last look, and all of them together. `threads` are folders of /proc."""
        seen: dict[str, tuple[int, int]] = {}
        by_name: dict[str, list[int]] = {}
        for thread in threads:
            try:
                with open(f"{thread}/schedstat", "rb", buffering=0) as file:
                    used, queued = (int(part) for part in file.read().split()[:2])
                name = roles.get(thread.partition("/task/")[0], "")
                if not name:
                    # Read each time: a thread may be given its name, or another one, at any time.
                    with open(f"{thread}/comm", "rb", buffering=0) as file:
                        name = group(file.read().decode(errors="replace"))
            except OSError:
                continue  # it ended in between
            seen[thread] = (used, queued)
            before = self._seen.get(thread, (0, 0))
            if used < before[0] or queued < before[1]:  # a new thread has the number of one that ended
                before = (0, 0)
            for each in (name, ""):
                sums = by_name.setdefault(each, [0, 0, 0])
                sums[0] += 1
                sums[1] += used - before[0]
                sums[2] += queued - before[1]
        self._seen = seen
        return [
            {"name": name, "threads": count, "cpu_s": used / 1e9, "queued_s": queued / 1e9}
            for name, (count, used, queued) in sorted(by_name.items())
            if not name or used >= LEAST_NS or queued >= LEAST_NS
        ]


def group(name: str) -> str:
    """The name that threads which differ in a number share: ib_pg_flush-1 and ib_pg_flush-2 are ib_pg_flush."""
    name = name.strip()
    return _NUMBER.sub("", name) or name
