"""Where the server spends its CPU: perf samples its stacks for some seconds at intervals, where the experiment asks.

Only recording happens during the load, at a low priority; what was recorded is folded after it. Of a server of several
processes all are sampled, also those that it starts meanwhile, and each is called by what its title says it does.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ibench_lib.base.tether import tethered
from ibench_lib.capture.collector import CaptureTarget, Collector, Emit, Unavailable
from ibench_lib.capture.options import CaptureOptions, Profile
from ibench_lib.capture.proc import children_of, role_of, with_all_of
from ibench_lib.capture.threads import group

_HEADER = re.compile(r"(?P<comm>\S.*?)\s+(?P<pid>\d+)\s+(?P<event>[\w-]+)(?::\w*)*:\s*")
_FRAME = re.compile(r"\s+[0-9a-f]+ (?P<function>.+?)(?: \((?P<library>[^()]*(?:\([^()]*\))?[^()]*)\))?")
_LOST = re.compile(r".*\bPERF_RECORD_LOST(?:_SAMPLES)?\b.*\blost (?P<lost>\d+)")
_UNKNOWN = "[unknown]"
# perf runs this while it samples: the time of the CPU is read at both ends of just what is sampled, of the server's
# process and its children. The end of the run ends it early, and its `sleep` with it.
_WHILE = """look() { c=; read -r c </proc/$0/task/$0/children
for p in $0 $c; do read -r l </proc/$p/stat && echo "$l"; done; echo .; }
look 2>/dev/null; sleep $1 & trap "kill $!" TERM INT; wait $!; look 2>/dev/null"""
_LOOKED = "."
_STAT = re.compile(r"(?P<pid>\d+) \(.*\) \S(?: -?\d+){10}(?P<own>(?: \d+){2})(?P<ended>(?: -?\d+){2}) .*")
_PROBE_S = 0.1
# Not the lowest: starting takes perf 0.2 s of CPU, which at 19 take it more than 10 s while a load uses all cores.
_NICE = "10"
_GRACE_S = 60.0
_FOLD_S = 120.0  # of one recording; perf reads the symbols of every library again
_POLL_S = 0.05


@dataclass(frozen=True)
class _Recording:
    tick: int
    t_s: float
    path: Path
    cpu_s: float | None
    roles: Mapping[int, str]


class PerfProfile(Collector):
    """A recording of each `every_s` seconds. What was recorded until the run's end is folded, however it ended."""

    name: ClassVar[str] = "profile"
    tables: ClassVar[tuple[str, ...]] = ("profile_stacks",)
    close_s: ClassVar[float] = 600.0

    def __init__(self, scene: CaptureTarget, emit: Emit) -> None:
        super().__init__(scene, emit)
        self._options = scene.options.profile or Profile()
        self.every_s = self._options.every_s
        self._recordings: list[_Recording] = []
        self._event = ""
        # perf keeps its caches at home, and would ask the network for symbols where the environment says so.
        self._environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(scene.scratch), "LC_ALL": "C"}

    @classmethod
    def wanted(cls, options: CaptureOptions) -> bool:
        return options.profile is not None

    def open(self) -> None:
        if shutil.which("perf") is None:
            raise Unavailable("there is no perf: install the Debian package linux-perf")
        pid = self.scene.server_pid()
        if pid is None:
            raise Unavailable("the server is remote: perf samples processes of this host")
        probe = self.scene.scratch / "probe.perf"
        status, output = self._record("cycles", pid, probe, _PROBE_S)
        if self.stopping.is_set():
            return
        if status != 0 or not probe.is_file():
            raise Unavailable(
                f"perf is not permitted to sample the server's process: {_first_line(output)}; run as root,"
                " or set the kernel's perf_event_paranoid to 1 or lower"
            )
        # Without a hardware counter perf takes its own clock instead, and says so in the file only.
        listed = self._run(["perf", "evlist", "-i", str(probe)], _GRACE_S)[1]
        self._event = "cycles" if "cycles" in listed else "cpu-clock"
        probe.unlink()

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        pid = self.scene.server_pid()
        if pid is None:
            raise ProcessLookupError("the server has no process now")
        path = self.scene.scratch / f"{tick}.perf"
        roles = self._roles(pid)
        status, output = self._record(self._event, pid, path, self._options.seconds)
        if self.stopping.is_set():  # it was cut short: nobody knows how long it sampled
            path.unlink(missing_ok=True)
        elif status != 0 or not path.is_file():
            raise OSError(f"perf record: {_first_line(output)}")
        else:
            roles |= self._roles(pid)  # of those that it has started meanwhile
            self._recordings.append(_Recording(tick, now_s(), path, _cpu_between(output), roles))

    def close(self) -> None:
        """Fold what was recorded."""
        failed: list[str] = []
        stacks = 0
        for recording in self._recordings:
            what = ["--no-inline", "--show-lost-events", "-F", "comm,pid,event,ip,sym,dso"]
            argv = ["perf", "script", *what, "-i", str(recording.path)]
            status, text = self._run(argv, _FOLD_S)
            recording.path.unlink(missing_ok=True)
            if status != 0:
                failed.append(f"tick {recording.tick}: perf script: {_first_line(text)}")
                continue
            lines = text.splitlines()
            lost = lost_samples(lines)
            for stack, samples in sorted(folded(lines, recording.roles).items()):
                stacks += 1
                self.emit(
                    "profile_stacks",
                    tick=recording.tick,
                    t_s=recording.t_s,
                    seconds=float(self._options.seconds),
                    event=self._event,
                    frequency=float(self._options.frequency),
                    lost=lost,
                    cpu_s=recording.cpu_s,
                    thread_group=group(stack.partition(";")[0]),
                    stack=stack,
                    samples=samples,
                )
        if self._recordings and not stacks and not failed:
            failed.append("perf took no sample: the server used next to no CPU while it recorded")
        if failed:
            self.null_reasons["profile_stacks"] = "; ".join(failed)

    def _roles(self, pid: int) -> dict[int, str]:
        """What the processes that the server has started do, as far as they say it."""
        roles = {child: role_of(child, self.scene.database) for child in children_of(pid)}
        return {child: role for child, role in roles.items() if role is not None}

    def _record(self, event: str, pid: int, path: Path, seconds: float) -> tuple[int, str]:
        frequency = str(self._options.frequency)

        def record(processes: list[int]) -> tuple[int, str]:
            what = ["-e", event, "-F", frequency, "-g", "-p", ",".join(map(str, processes))]
            argv = ["perf", "record", "-q", "-B", *what, "-o", str(path), "--"]
            argv += ["sh", "-c", _WHILE, str(pid), str(seconds)]
            return self._run(argv, seconds + _GRACE_S, stoppable=True)

        return with_all_of(pid, record)

    def _run(self, argv: list[str], timeout_s: float, *, stoppable: bool = False) -> tuple[int, str]:
        """Exit status, and what was written. Out of the way of the load, and gone with us. Its CPU is counted.

        One that is `stoppable` is asked to end when the run does.
        """
        output = self.scene.scratch / "perf.out"
        with open(output, "w+b") as file:
            process = subprocess.Popen(
                tethered(["nice", "-n", _NICE, *argv]),
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT if stoppable else subprocess.DEVNULL,
            )
            deadline = time.monotonic() + timeout_s
            asked = False
            while True:
                # Not Popen.wait: only wait4 tells what this one child took, with the children that it had.
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() > deadline:
                    process.send_signal(signal.SIGKILL)
                elif stoppable and self.stopping.is_set() and not asked:
                    process.send_signal(signal.SIGINT)  # perf ends its own child, too
                    asked = True
                time.sleep(_POLL_S)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.children_cpu_s += usage.ru_utime + usage.ru_stime
            file.seek(0)
            return process.returncode, file.read().decode(errors="replace")


def folded(lines: Iterable[str], roles: Mapping[int, str] | None = None) -> Counter[str]:
    """Stacks of `perf script -F comm,pid,event,ip,sym,dso` with their number of samples.

    A sample is a line with the thread's name, its process and the event, then its functions from the innermost out,
    then an empty line. A process that is in `roles` has that name. A stack of perf's own that has no function is the
    name alone. A function without a name is `[unknown]`, with the file name of its library where that is known:
    `[unknown] (libc.so.6)`.
    """
    stacks: Counter[str] = Counter()
    comm: str | None = None
    functions: list[str] = []
    for line in [*lines, ""]:
        header = _HEADER.fullmatch(line)
        if header:
            comm, functions = (roles or {}).get(int(header["pid"]), header["comm"]), []
        elif frame := _FRAME.fullmatch(line):
            functions.append(_named(frame["function"].strip(), frame["library"]))
        elif not line.strip() and comm is not None:
            stacks[";".join([comm.replace(";", ":"), *reversed(functions)])] += 1
            comm = None
    return stacks


def lost_samples(lines: Iterable[str]) -> int:
    """How many samples the kernel could not keep, by `perf script --show-lost-events`."""
    return sum(int(match["lost"]) for match in map(_LOST.fullmatch, lines) if match)


def _named(function: str, library: str | None) -> str:
    """A frame without `;`, which separates frames; of a path the file name is left."""
    if function == _UNKNOWN and library and library != _UNKNOWN:
        function = f"{_UNKNOWN} ({library.rpartition('/')[2]})"
    return function.replace(";", ":")


def _cpu_between(said: str) -> float | None:
    """CPU seconds of a server between two looks at its processes, each with the /proc/<pid>/stat of all of them.

    What a child has used that has ended is in its parent's. None where the server has ended in between.
    """
    looks: list[list[re.Match[str]]] = [[]]
    for line in said.splitlines():
        if line == _LOOKED:
            looks.append([])
        elif match := _STAT.fullmatch(line):
            looks[-1].append(match)
    before, after = looks[:2] if len(looks) == 3 else ([], [])
    if not before or not after or before[0]["pid"] != after[0]["pid"]:
        return None
    ticks = [
        sum(map(int, f"{look[0]['ended']} {' '.join(one['own'] for one in look)}".split())) for look in (before, after)
    ]
    return (ticks[1] - ticks[0]) / os.sysconf("SC_CLK_TCK")


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip(" -")]
    return next((line for line in lines if line.rstrip(":") != "Error"), "no message")
