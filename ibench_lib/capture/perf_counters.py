"""Instructions and cycles of the server's process, once a second, where the machine counts them: `perf stat -I 1000`.

perf counts all the time and says once a second by how much its counters grew. If the processor has fewer counters than
are asked for, each counts for a part of the time, and perf scales its figure; `running` says how large that part was.
All processes of a server count, also those that it starts later.
"""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, ClassVar

from ibench_lib.base.tether import tethered
from ibench_lib.capture.collector import CaptureTarget, Collector, Emit, Unavailable
from ibench_lib.capture.proc import children_of, with_all_of

EVENTS = {
    "instructions": "instructions",
    "cycles": "cycles",
    "cache-misses": "cache_misses",
    "dTLB-load-misses": "tlb_misses",
    "task-clock": "cpu_s",
}
"""perf's events, and the columns that have them."""

_HARDWARE = ("instructions", "cycles")
_PROBE_S = 0.1
_GRACE_S = 20.0
_NICE = "10"


@dataclass(frozen=True)
class EventCount:
    """One event in one interval: `value` as scaled by perf, None where it did not count, with perf's word for it.

    `at_s` is the end of the interval, counted from perf's start; `running` the share of the interval in which the
    event was counted.
    """

    at_s: float
    event: str
    value: float | None
    said: str
    running: float


class PerfCounters(Collector):
    """A row per interval of about a second. perf is started again when the server's process is another one."""

    name: ClassVar[str] = "perf_counters"
    tables: ClassVar[tuple[str, ...]] = ("perf_counters",)

    def __init__(self, scene: CaptureTarget, emit: Emit) -> None:
        super().__init__(scene, emit)
        self._environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(scene.scratch), "LC_ALL": "C"}
        self._process: subprocess.Popen[bytes] | None = None
        self._pid: int | None = None
        self._output: IO[bytes] | None = None
        self._rest = b""
        self._before_s = 0.0
        self._tick = -1
        self._starts = 0

    def open(self) -> None:
        if shutil.which("perf") is None:
            raise Unavailable("there is no perf: install the Debian package linux-perf")
        pid = self.scene.server_pid()
        if pid is None:
            raise Unavailable("the server is remote: perf counts what processes of this host do")

        def count(processes: list[int]) -> tuple[int, str]:
            argv = [
                "perf",
                "stat",
                "-x,",
                "-e",
                ",".join(EVENTS),
                "-p",
                _listed(processes),
                "--",
                "sleep",
                str(_PROBE_S),
            ]
            run = subprocess.run(
                tethered(argv), env=self._environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_GRACE_S
            )
            return run.returncode, run.stderr.decode(errors="replace")

        status, said = with_all_of(pid, count)
        if status != 0:
            raise Unavailable(
                f"perf is not permitted to count the server's process: {_first_line(said)}; run as root, or set the"
                " kernel's perf_event_paranoid to 1 or lower"
            )
        counts = {one.event: one for one in counted(f"0,{line}" for line in said.splitlines())}
        lacking = {event: counts[event].said if event in counts else "no answer" for event in _HARDWARE}
        lacking = {event: said for event, said in lacking.items() if said == "<not supported>" or event not in counts}
        if len(lacking) == len(_HARDWARE):
            raise Unavailable(
                "this machine counts neither instructions nor cycles (perf: <not supported>),"
                " like most virtual machines"
            )
        for event, column in EVENTS.items():
            if event not in counts or counts[event].said == "<not supported>":
                self.null_reasons[f"perf_counters.{column}"] = (
                    f"this machine does not count {event} (perf: not supported)"
                )

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        pid = self.scene.server_pid()
        if pid is None:
            self._stop()
            raise ProcessLookupError("the server has no process now")
        if pid != self._pid or self._process is None:
            self._stop()
            self._start(pid)
            return
        for row in self._finished(now_s):
            self.emit("perf_counters", **row)
        if self._process.poll() is not None:
            self._stop()
            raise OSError("perf stat has ended")

    def close(self) -> None:
        self._stop()

    def _start(self, pid: int) -> None:
        self._starts += 1
        path = self.scene.scratch / f"counters-{self._starts}.csv"
        # It goes on with what these start: a child that a process has later counts as a part of it.
        processes = _listed([pid, *children_of(pid)])
        argv = ["perf", "stat", "-I", "1000", "-x,", "-e", ",".join(EVENTS), "-p", processes]
        self._output = open(path, "w+b")  # noqa: SIM115  (read as long as perf writes it)
        self._process = subprocess.Popen(
            tethered(["nice", "-n", _NICE, *argv]), env=self._environment, stdin=subprocess.DEVNULL,
            stdout=self._output, stderr=self._output,
        )  # fmt: skip
        self._pid, self._rest, self._before_s = pid, b"", 0.0
        self._reader = open(path, "rb")  # noqa: SIM115
        path.unlink()

    def _stop(self) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        with suppress(ChildProcessError):
            _, _, usage = os.wait4(self._process.pid, 0)
            self.children_cpu_s += usage.ru_utime + usage.ru_stime
        self._process.returncode = 0
        for file in (self._output, self._reader):
            if file is not None:
                file.close()
        self._process, self._pid = None, None

    def _finished(self, now_s: Callable[[], float]) -> list[dict[str, Any]]:
        """Rows of the intervals that perf has written since the last look."""
        text = self._rest + self._reader.read()
        written_s = os.fstat(self._reader.fileno()).st_mtime
        now, wall = now_s(), time.time()
        whole, newline, self._rest = text.rpartition(b"\n")
        by_time: dict[float, dict[str, EventCount]] = {}
        for one in counted((whole + newline).decode(errors="replace").splitlines()):
            by_time.setdefault(one.at_s, {})[one.event] = one
        # perf's clock began when it did; what it wrote last, it wrote at the end of the last interval.
        began = now - (wall - written_s) - max(by_time, default=0.0)
        rows = []
        for at_s, events in sorted(by_time.items()):
            row = interval(events, began + at_s, at_s - self._before_s)
            # Two intervals of a little less than a second may end in the same one, but each has a tick of its own.
            self._tick = row["tick"] = max(row["tick"], self._tick + 1)
            rows.append(row)
            self._before_s = at_s
        return rows


def counted(lines: Iterable[str]) -> list[EventCount]:
    """What `perf stat -I 1000 -x,` says, event by event; other lines, such as comments and warnings, are left out.

    A line is time, value, unit, event, time counted in ns, and running %. The value is `<not supported>` where the
    machine has no such counter, and `<not counted>` where the process did not run.
    """
    counts = []
    for line in lines:
        fields = line.strip().split(",")
        if len(fields) < 6:
            continue
        event = fields[3].partition(":")[0]
        try:
            at_s, running = float(fields[0]), float(fields[5] or 0) / 100
            value = None if fields[1].startswith("<") else float(fields[1])
        except ValueError:
            continue
        if event not in EVENTS or (value is not None and not math.isfinite(value)):
            continue
        if value is not None and fields[2] == "msec":
            value /= 1000
        counts.append(EventCount(at_s, event, value, fields[1], running))
    return counts


def interval(events: dict[str, EventCount], t_s: float, seconds: float) -> dict[str, Any]:
    """The row of an interval that ends at `t_s`. A process that did not run in it did nothing."""
    row: dict[str, Any] = {"tick": math.floor(t_s), "t_s": t_s, "seconds": seconds}
    for event, column in EVENTS.items():
        one = events.get(event)
        idle = one is not None and one.said == "<not counted>" and _idle(events)
        value = 0.0 if idle else one.value if one is not None else None
        row[column] = value if value is None or column == "cpu_s" else round(value)
    shares = [one.running for event, one in events.items() if event != "task-clock" and one.value is not None]
    row["running"] = min(shares, default=None)
    return row


def _idle(events: dict[str, EventCount]) -> bool:
    """Whether no event at all was counted: not that one had no turn on the processor's counters."""
    return all(one.value is None for one in events.values())


def _listed(processes: Iterable[int]) -> str:
    return ",".join(map(str, processes))


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip(" -")]
    return next((line for line in lines if line.rstrip(":") != "Error"), "no message")
