"""The server's process, once a second, from /proc/<pid>. Of a server of several processes it is the sum.

Those are the process that was started and its children. A child that has ended counts by what the kernel has added to
its parent, so what is cumulative never falls.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from ibench_lib.capture.collector import Collector, Unavailable
from ibench_lib.capture.proc import ProcFile, children_of, threads_of
from ibench_lib.capture.step_counters import PEAK

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
# Of /proc/<pid>/stat, from the field after the name; of children that have ended and were waited for, the C ones.
_UTIME, _STIME, _CUTIME, _CSTIME, _THREADS, _VSIZE, _RSS = 11, 12, 13, 14, 17, 20, 21
_CLEAR_REFS, _RESET_PEAK = "/proc/{pid}/clear_refs", b"5"


class Process(Collector):
    """Another pid is another process, whose counters start again."""

    name: ClassVar[str] = "process"
    tables: ClassVar[tuple[str, ...]] = ("process_samples",)

    def open(self) -> None:
        if self.scene.datadir is None and self.scene.server_pid() is None:
            raise Unavailable("the server is remote: its process is on another host")
        self._watched: _Watched | None = None

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        self.emit("process_samples", tick=tick, **self._now(now_s))

    def counters(self, now_s: Callable[[], float], *, starts: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        """With the largest resident size since the step's start, where its mark may be reset then."""
        columns = self._now(now_s)
        assert self._watched is not None
        if starts:
            reason = self._watched.reset_peak()
            if reason is not None:
                self.null_reasons[f"step_counters.{PEAK}"] = f"{reason}; rss is the largest sample instead"
        yield "process_samples", {**columns, PEAK: self._watched.peak()}

    def _now(self, now_s: Callable[[], float]) -> dict[str, Any]:
        pid = self.scene.server_pid()
        if pid is None:
            self._watched = None
            raise ProcessLookupError("the server has no process now")
        if self._watched is None or self._watched.pid != pid:
            self._watched = _Watched(pid)
        watched, t_s = self._watched, now_s()
        watched.look_for_children()
        switches = watched.switches()
        if watched.denied is not None:
            for column in ("read_bytes", "written_bytes"):
                self.null_reasons[f"process_samples.{column}"] = watched.denied
        read_bytes, written_bytes = watched.io()
        return {
            "t_s": t_s,
            "pid": pid,
            **watched.columns(),
            "read_bytes": read_bytes,
            "written_bytes": written_bytes,
            "voluntary_switches": switches[0],
            "involuntary_switches": switches[1],
            "blocked_threads": watched.blocked,
        }

    def close(self) -> None:
        self._watched = None


class _Watched:
    """One process: its open files, and the context switches of its threads so far.

    The kernel counts context switches by thread and forgets those of a thread that has ended. What a thread adds from
    one sample to the next is summed here, so the sum never falls; only its last part of a second is lost.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.denied: str | None = None
        self.stat = ProcFile(f"/proc/{pid}/stat")
        self._io: ProcFile | None = None
        try:
            self._io = ProcFile(f"/proc/{pid}/io")
            self._io.read()
        except PermissionError as error:
            self._io, self.denied = None, f"/proc/{pid}/io: {error.strerror}"
        self._threads: dict[str, tuple[int, int]] = {}
        self._children: list[int] = []
        self._sums: dict[str, float] = {}
        self._voluntary = self._involuntary = 0
        self.blocked = 0
        self._peak_is_reset = False

    def look_for_children(self) -> None:
        """Find the processes that the server consists of besides the first."""
        self._children = children_of(self.pid)

    def columns(self) -> dict[str, Any]:
        """`stat_columns` of all processes."""
        text = self.stat.read()
        own = stat_columns(text)
        own["cpu_user_s"], own["cpu_system_s"] = ended_cpu(text, own)
        of_children = [stat_columns(text) for text in self._of_children("stat")]
        for name in ("cpu_user_s", "cpu_system_s"):
            own[name] = self._never_falling(name, own[name] + sum(child[name] for child in of_children))
        own["threads"] += sum(child["threads"] for child in of_children)
        if of_children:
            with open(f"/proc/{self.pid}/status", "rb", buffering=0) as file:
                own["resident_bytes"] = resident_bytes([file.read(), *self._of_children("status")])
        return own

    def _of_children(self, name: str) -> Iterator[bytes]:
        """The text of a file of each child that is still there."""
        for child in self._children:
            try:
                with open(f"/proc/{child}/{name}", "rb", buffering=0) as file:
                    yield file.read()
            except OSError:
                continue  # it ended in between

    def _never_falling(self, name: str, now: float) -> float:
        """A sum, or what it was before: a child may end between two looks at one sample."""
        self._sums[name] = max(now, self._sums.get(name, 0))
        return self._sums[name]

    def reset_peak(self) -> str | None:
        """Let the kernel's mark of the largest resident size (VmHWM) start again; why not, where it does not."""
        self._peak_is_reset = False
        if self._children:
            return "the server has several processes, of which no mark can be added up"
        path = _CLEAR_REFS.format(pid=self.pid)
        try:
            with open(path, "wb", buffering=0) as file:
                file.write(_RESET_PEAK)
        except OSError as error:
            return f"{path}: {error.strerror}"
        self._peak_is_reset = True
        return None

    def peak(self) -> int | None:
        """Largest resident size in bytes since `reset_peak`; None where that did not work."""
        if not self._peak_is_reset:
            return None
        with open(f"/proc/{self.pid}/status", "rb", buffering=0) as file:
            return peak_bytes(file.read())

    def io(self) -> tuple[int | None, int | None]:
        """Bytes read from and sent to storage."""
        if self._io is None:
            return None, None
        every = [io_bytes(text) for text in (self._io.read(), *self._of_children("io"))]
        read, written = (self._never_falling(f"io {n}", sum(each[n] for each in every)) for n in (0, 1))
        return int(read), int(written)

    def switches(self) -> tuple[int, int]:
        """Voluntary and involuntary context switches of all threads ever seen. Counts the `blocked` ones as well."""
        seen: dict[str, tuple[int, int]] = {}
        self.blocked = 0
        for thread in threads_of(self.pid, self._children):
            try:
                # Not kept open: a server may have more threads than we may have files.
                with open(f"{thread}/status", "rb", buffering=0) as file:
                    text = file.read()
            except OSError:
                continue  # it ended in between
            now = thread_switches(text)
            self.blocked += is_blocked(text)
            before = self._threads.get(thread, (0, 0))
            if now[0] < before[0] or now[1] < before[1]:  # a new thread has the number of one that ended
                before = (0, 0)
            self._voluntary += now[0] - before[0]
            self._involuntary += now[1] - before[1]
            seen[thread] = now
        self._threads = seen
        return self._voluntary, self._involuntary


def ended_cpu(text: bytes, own: dict[str, Any]) -> tuple[float, float]:
    """User and system CPU seconds of a process and of its children that have ended, by its /proc/<pid>/stat."""
    fields = text[text.rindex(b")") + 1 :].split()
    user, system = (int(fields[field]) / _TICKS_PER_S for field in (_CUTIME, _CSTIME))
    return own["cpu_user_s"] + user, own["cpu_system_s"] + system


def resident_bytes(texts: Sequence[bytes]) -> int:
    """Memory of processes that share some, by their /proc/<pid>/status: what each has alone, and the largest share."""
    lines = [dict(line.split(b":", 1) for line in text.splitlines() if b":" in line) for text in texts]
    own, shared = ([int(each.get(name, b"0").split()[0]) for each in lines] for name in (b"RssAnon", b"RssShmem"))
    return (sum(own) + max(shared)) * 1024


def stat_columns(text: bytes) -> dict[str, Any]:
    """State, CPU, sizes and threads of a /proc/<pid>/stat. The name may hold spaces and brackets."""
    fields = text[text.rindex(b")") + 1 :].split()
    return {
        "state": fields[0].decode(),
        "cpu_user_s": int(fields[_UTIME]) / _TICKS_PER_S,
        "cpu_system_s": int(fields[_STIME]) / _TICKS_PER_S,
        "resident_bytes": int(fields[_RSS]) * _PAGE,
        "virtual_bytes": int(fields[_VSIZE]),
        "threads": int(fields[_THREADS]),
    }


def io_bytes(text: bytes) -> tuple[int, int]:
    """read_bytes and write_bytes of a /proc/<pid>/io: what reached or will reach storage, not the page cache."""
    lines = dict(line.split(b": ") for line in text.splitlines())
    return int(lines[b"read_bytes"]), int(lines[b"write_bytes"])


def peak_bytes(text: bytes) -> int:
    """VmHWM of a /proc/<pid>/status."""
    line = next(line for line in text.splitlines() if line.startswith(b"VmHWM:"))
    return int(line.split()[1]) * 1024


def is_blocked(text: bytes) -> bool:
    """Whether a thread is in state D, by its /proc/<pid>/task/<tid>/status."""
    return b"\nState:\tD" in text


def thread_switches(text: bytes) -> tuple[int, int]:
    """Voluntary and involuntary context switches of a /proc/<pid>/task/<tid>/status: its last two lines."""
    voluntary, involuntary = text.rstrip().splitlines()[-2:]
    return int(voluntary.removeprefix(b"voluntary_ctxt_switches:")), int(
        involuntary.removeprefix(b"nonvoluntary_ctxt_switches:")
    )
