"""The main program of a client that drives a program of another make: `python -m ibench_lib.client.external`.

The runner starts it as it starts `worker.py`, and it speaks the same JSON lines. The module that the specification
names has `make_program`, which says how the program is started and what a line of its output says; nothing else knows
the program.

The program runs in a process group of its own, from the step's common start to its own end. Its output is read line by
line: a long line is dropped, and nothing of it is kept. What it prints of its intervals becomes the whole seconds of
the step (`Seconds`). What it does not print stays NULL, and the reasons go to the runner with the totals.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from ibench_lib.base.tether import tethered
from ibench_lib.client.driver import family_of
from ibench_lib.client.intervals import CountedSeconds, IntervalCount, Reading, Seconds, Unreadable, require_possible
from ibench_lib.client.program_threads import BUSY, ProgramThreads, children, runs
from ibench_lib.client.spec import Spec

LINE_BYTES, MOST_BYTES, TAIL_BYTES = 1 << 16, 256 << 20, 4096
LATE_S, LATE_SHARE, KILL_AFTER_S = 10.0, 0.1, 2.0
"""How long a program may run on after the seconds of its step, and after SIGTERM."""
READY_S = 120.0
"""How long a program may take to connect."""
_SHOWN, _QUOTED = 120, 3
_PR_SET_CHILD_SUBREAPER = 36


class Program(ABC):
    """How a program is started, and what a line of its standard output says.

    Attributes
    ----------
    argv : its command line. A password has no place in it: everyone on the host can read it (`Target.option_file`).
    environment : what is added to the client's environment; what is None is left out of it.
    ready : the line by which it says that it is connected. It then begins its load when a line comes on its standard
        input, which is the common start of the step. None: it begins when it is started.
    counts : whether it says `IntervalCount` things, all of them exact; else it says `Reading`s.
    at_most_s : after how long one that does not end by the clock of its step is killed. None: never.
    """

    argv: Sequence[str]
    environment: Mapping[str, str | None] = {}
    ready: str | None = None
    counts = False
    at_most_s: float | None = None

    @abstractmethod
    def read_line(self, line: str) -> Reading | Sequence[IntervalCount] | None:
        """What a line says of an interval. None: it cannot be read. An empty sequence: it can, and says nothing of one.

        Raises Unreadable.
        """

    def finish(self, ran_s: float) -> Sequence[IntervalCount]:
        """What it has done as a whole, asked once it has ended well after so many seconds. Raises Unreadable."""
        return ()

    def rows_by_table(self) -> Mapping[str, int]:
        """How many rows it has put into tables, for the checks of the workload (`Workload.checks`)."""
        return {}

    def limits(self) -> Sequence[tuple[float, str]]:
        """How near it came to limits other than the CPU of its threads: shares of a limit, each with the reason."""
        return ()


def _children() -> list[int]:
    """The child processes of this one, also those that have ended; empty where the kernel does not say."""
    return children(os.getpid())


class CannotDrive(Exception):
    """The program cannot be started with this specification. The text says why, in one line."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where and who: `socket`, or `host` and `port`, with the CA's `certificate` if by TLS. `family` is the server's.

    `option_file` is a file in the format of the server's own clients that only this user can read. It has all of this
    and the password. It exists as long as the client does, and on no disk. None: the driver makes no such file.
    `listener_user` is the number of the user whose process has to listen on `socket`, where nothing else proves what
    the server is (`Address.listener`).
    """

    database: str
    user: str
    family: str = ""
    socket: str | None = None
    host: str | None = None
    port: int | None = None
    certificate: str | None = None
    password: str = field(default="", repr=False)
    option_file: str | None = None
    listener_user: int | None = None


class Lines:
    """Bytes made into lines. Of a line that is too long nothing is kept."""

    def __init__(self) -> None:
        self._rest, self._dropping = b"", False

    def add(self, chunk: bytes) -> Iterator[str | None]:
        """The lines that are whole now; None for one that is too long."""
        *whole, rest = (self._rest + chunk).split(b"\n")
        for line in whole:
            if self._dropping or len(line) > LINE_BYTES:
                self._dropping = False
                yield None
            else:
                yield line.decode(errors="replace").rstrip("\r")
        if len(rest) > LINE_BYTES:
            self._dropping, rest = True, b""
        self._rest = b"" if self._dropping else rest

    def end(self) -> Iterator[str | None]:
        """What is left without an end of line."""
        if self._rest or self._dropping:
            yield from self.add(b"\n")


class RunningProgram:
    """A program that runs: its process group, its output, and what it has said.

    Attributes
    ----------
    seconds : what it has said of its intervals.
    read, unread : lines that said something of an interval, and those that could not be read.
    left : processes that it has left behind.
    loads : whether its load has begun.
    """

    def __init__(
        self, program: Program, operation: str, emit: Callable[[dict[str, Any]], None], secret: str = ""
    ) -> None:
        self.program = program
        self._secret = secret
        self.seconds = CountedSeconds(emit) if program.counts else Seconds(operation, emit)
        self.read = self.unread = 0
        self.error: str | None = None
        self.stopped = self.loads = False
        self.cpu = (0.0, 0.0)
        self._unread: list[str] = []
        self._bytes = 0
        self._errors = b""
        self._lines = Lines()
        self._is_ready = program.ready is None
        self._start_ns = 0
        self._killed_at: float | None = None
        self._threads: ProgramThreads | None = None
        self._status: int | None = None
        self._ended_at = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._selector = selectors.DefaultSelector()
        self._adopts, self.left = False, 0

    @property
    def name(self) -> str:
        """The name of the program, without its folder."""
        return os.path.basename(self.program.argv[0])

    def stop(self) -> None:
        """Ask it to end; `run` kills it if it does not."""
        self.stopped = True
        self._end()

    def connect(self) -> None:
        """Start a program that says when it is ready, and wait until it does. `error` says why it is not."""
        self._begin()
        until = time.monotonic() + READY_S
        while not self._is_ready and not self.error and self._selector.get_map():
            self._read_some(0.0)
            if time.monotonic() > until:
                self._fail(f"it was not ready after {READY_S:.0f} s")
        if not self._is_ready:
            self.error = self.error or self._why_ended(READY_S - until + time.monotonic())

    def run(self, start_ns: int, seconds: float | None) -> None:
        """Begin its load and read it to its end, which comes at the latest some time after `seconds`.

        What goes wrong is in `error`; what it said before is kept.
        """
        at_most_s = self.program.at_most_s
        if seconds is not None:
            at_most_s = seconds + max(LATE_S, LATE_SHARE * seconds)
        self.loads, self._start_ns = True, start_ns
        try:
            if self.program.ready is None:
                self._begin()
            else:
                self._go()
            if self.stopped:
                self._end()
            self._read_all(at_most_s)
        finally:
            self.close()
        ran_s = self._since_start_s()
        self._judge(ran_s, seconds)
        if self.error is None and not self.stopped:
            try:
                self._add(self.program.finish(ran_s), ran_s)
            except Unreadable as error:
                self.error = f"what it has done as a whole: {error}"
        self.seconds.finish()

    def close(self) -> None:
        """End it, with all that it has left behind."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        if self._status is not None and self._adopts:
            self.left = sum(map(runs, _children()))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        if self._status is None:
            self._wait(process.pid)
        process.returncode = os.waitstatus_to_exitcode(self._status or 0)
        self._end_orphans()
        os.close(self._exited)
        self._selector.close()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):  # what was not written to it
                    stream.close()

    def adopt(self) -> None:
        """Have what the program leaves behind become children of this process, which has no others, and end with it."""
        self._adopts = ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0

    def _end_orphans(self) -> None:
        """End what has left the process group, as a daemon does; what these have started comes here in turn."""
        until = time.monotonic() + KILL_AFTER_S
        while self._adopts and (orphans := _children()) and time.monotonic() < until:
            for pid in orphans:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)

    def _begin(self) -> None:
        environment: dict[str, str | None] = {**os.environ, **self.program.environment}
        process = self._process = subprocess.Popen(
            tethered(list(self.program.argv)),
            env={name: text for name, text in environment.items() if text is not None},
            stdin=subprocess.DEVNULL if self.program.ready is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._exited = os.pidfd_open(process.pid)
        self._threads = ProgramThreads(process.pid)
        assert process.stdout is not None and process.stderr is not None
        for stream in (process.stdout, process.stderr):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ)
        self._selector.register(self._exited, selectors.EVENT_READ)

    def _go(self) -> None:
        assert self._process is not None and self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended: what it said last tells why
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()

    def _wait(self, pid: int) -> None:
        _, self._status, usage = os.wait4(pid, 0)
        self.cpu, self._ended_at = (usage.ru_utime, usage.ru_stime), time.monotonic()

    def _since_start_s(self) -> float:
        return (time.monotonic_ns() - self._start_ns) / 1e9 if self.loads else 0.0

    def _read_some(self, arrived_s: float) -> None:
        """Take in what comes within half a second. What has ended is no longer in the selector."""
        process = self._process
        assert process is not None
        for key, _ in self._selector.select(0.5):
            if key.fileobj == self._exited:
                self._wait(process.pid)
                self._selector.unregister(self._exited)
                continue
            chunk = os.read(key.fd, 1 << 16)
            if not chunk:
                self._selector.unregister(key.fileobj)
            if key.fileobj is process.stderr:
                self._errors = (self._errors + chunk)[-TAIL_BYTES:]
            else:
                arrived_s = self._since_start_s()
                self._take_in(self._lines.add(chunk) if chunk else self._lines.end(), arrived_s)
                self._bytes += len(chunk)
                if self._bytes > MOST_BYTES:
                    self._fail(f"it printed more than {MOST_BYTES >> 20} MiB")

    def _read_all(self, at_most_s: float | None) -> None:
        """Read until it has ended and closed its output."""
        process = self._process
        assert process is not None
        assert self._threads is not None
        while self._selector.get_map():
            self._threads.look()
            self._read_some(self._since_start_s())
            now = time.monotonic()
            if at_most_s is not None and self._since_start_s() > at_most_s and not self.stopped:
                self._fail(f"it did not end: after {at_most_s:.0f} s it was still running, so it was killed")
            if self._killed_at is not None and now > self._killed_at + KILL_AFTER_S:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                if self.error:
                    break
            if self._status is not None and now > self._ended_at + KILL_AFTER_S:
                break  # a process that it has left behind holds its output open

    def _take_in(self, lines: Iterator[str | None], arrived_s: float) -> None:
        if self.error:
            return
        readings: list[Reading | IntervalCount] = []
        texts: list[tuple[int, str]] = []
        wrong: str | None = None
        for line in map(self._without_secret, lines):
            if not self._is_ready and line is not None and line == self.program.ready:
                self._is_ready = True
                continue
            number = self.read + self.unread + 1
            try:
                said = None if line is None else self.program.read_line(line)
                if isinstance(said, Reading):
                    require_possible(said)
            except Unreadable as error:
                wrong = f"line {number}: {error}: {_shown(line)}"
                break
            if said:
                self.read += 1
                new = [said] if isinstance(said, Reading) else said
                readings += new
                texts += [(number, _shown(line))] * len(new)
            elif said is None and (line is None or line.strip()):
                self.unread += 1
                if (shown := _shown(line)) not in self._unread and len(self._unread) < _QUOTED:
                    self._unread.append(shown)
        try:
            self._add(readings, arrived_s)
        except Unreadable as error:
            number, text = texts[error.position]
            wrong = f"line {number}: {error}: {text}"
        if wrong:
            self._fail(wrong)

    def _without_secret(self, line: str | None) -> str | None:
        """A line without the password: lines that nobody can read are quoted."""
        return line.replace(self._secret, "***") if line and self._secret else line

    def _add(self, readings: Sequence[Reading | IntervalCount], arrived_s: float) -> None:
        self.seconds.add(readings, arrived_s)  # type: ignore[arg-type]  # a program says one kind only (`counts`)

    def _fail(self, error: str) -> None:
        self.error = self.error or error
        self._end()

    def _end(self) -> None:
        if self._process is not None and self._killed_at is None:
            self._killed_at = time.monotonic()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGTERM)

    def _why_ended(self, ran_s: float) -> str | None:
        """How it failed, by its exit code; None if it did not."""
        assert self._process is not None
        code = os.waitstatus_to_exitcode(self._status) if self._status is not None else 0
        # Some programs say what is wrong on standard output.
        tail = self._tail or (f": {', '.join(self._unread)}" if self._unread else "")
        if code < 0:
            return f"killed by {signal.Signals(-code).name} after {ran_s:.1f} s{tail}"
        return f"exit {code} after {ran_s:.1f} s{tail}" if code else None

    @property
    def _tail(self) -> str:
        """What it said last on its standard error, as the end of a sentence; empty if it said nothing there."""
        lines = self._errors.decode(errors="replace").strip().splitlines()
        return f": {_shown(self._without_secret(lines[-1]), 400)}" if lines else ""

    def _judge(self, ran_s: float, seconds: float | None) -> None:
        if self.error or self.stopped:
            return
        tail = self._tail
        if why := self._why_ended(ran_s):
            self.error = why
        elif not self.read and not self.unread and not self.program.counts:
            self.error = f"it ended after {ran_s:.1f} s and printed nothing{tail}"
        elif not self.read and self.unread:
            self.error = (
                f"none of its {self.unread} lines says anything of an interval; the first: {self._unread[0]}{tail}"
            )

    def limits(self) -> list[tuple[float, str]]:
        """How near it came to the limits from which on it limits a step, not the server; empty if not known."""
        busiest = self._threads.busiest if self._threads else None
        if busiest is None:
            return []
        return [(busiest / BUSY, f"a thread of {self.name} used {busiest:.0%} of a core"), *self.program.limits()]

    def warnings(self, seconds: float | None) -> list[str]:
        """What a reader has to know of its figures."""
        sentences = []
        if self.unread:
            every = self.read + self.unread
            sentences.append(f"{self.unread} of {every} lines could not be read; the first: {self._unread[0]}")
        if self.seconds.from_rates:
            sentences.append(
                "operations are rates that it printed, times the time between its lines: they are no counts"
            )
        if self.seconds.together:
            sentences.append(
                f"{self.seconds.together} lines without a time arrived together with the line before: single seconds of"
                " these are not known; let it print the time, or flush each line"
            )
        if isinstance(self.seconds, CountedSeconds) and self.seconds.long_s:
            lengths = self.seconds.long_s
            sentences.append(
                f"it printed nothing for up to {max(lengths):.1f} s, {len(lengths)} times: it stood still itself, and"
                " what it did then belongs to the last of these seconds"
            )
        if self.left:
            sentences.append(f"processes that it has left behind were ended: {self.left}")
        if self.error is None and not self.stopped and seconds is not None and self.seconds.end_s < 0.95 * seconds - 1:
            sentences.append(f"it reported {self.seconds.end_s:.1f} s of the {seconds:g} s that it was given")
        return [f"{self.name}: {sentence}" for sentence in sentences]

    def null_reasons(self) -> dict[str, str]:
        """Why columns are NULL, as the manifest has it."""
        why = f"{self.name} is a driven program, and does not print it"
        lacks = {"rows", "unknown"} | (self.seconds.lacks & {"errors", "retries"})
        reasons = {f"{table}.{column}": why for table in ("ops", "workers") for column in sorted(lacks)}
        if "bins" in self.seconds.lacks:
            reasons |= {f"ops.{column}": why for column in ("service_bins", "service_counts")}
            reasons |= {f"response_times.{column}": why for column in ("responses", "bins", "counts")}
        if "mean_us" in self.seconds.lacks:
            reasons["ops.service_sum_us"] = why
        if "max_us" in self.seconds.lacks:
            reasons |= {"ops.service_max_us": why, "response_times.max_us": why}
        one = f"{self.name} is a driven program: "
        reasons["ops.in_flight_us"] = f"{one}what it has in flight is not known"
        reasons["ops.cpu_user_s"] = reasons["ops.cpu_system_s"] = f"{one}its CPU is known of the whole step only"
        reasons["workers.client_lag_p99_us"] = reasons["workers.unrecorded_s"] = (
            f"{one}what it does in between is not known"
        )
        if not self.limits():
            reasons["steps.client_bound"] = reasons["steps.client_limit_share"] = (
                f"{one}the CPU of its threads is not known"
            )
        return reasons


def _shown(line: str | None, most: int = _SHOWN) -> str:
    if line is None:
        return f"a line of more than {LINE_BYTES >> 10} KiB"
    return repr(line if len(line) <= most else line[:most] + "...")


def option_file(driver: str, address: Mapping[str, Any], database: str) -> str | None:
    """The path of a file that only this user can read, with what the driver says to programs; None if it says nothing.

    It is a file in memory: it is on no disk, and gone when this process ends.
    """
    text_of = getattr(importlib.import_module(driver), "option_file", None)
    return None if text_of is None else private_file(text_of(address, database))


def private_file(text: str) -> str:
    """The path of a file with this text that only this user can read. It is in memory, and gone with this process."""
    descriptor = os.memfd_create("options")
    os.fchmod(descriptor, 0o600)
    os.write(descriptor, text.encode())
    return str(Path("/proc") / str(os.getpid()) / "fd" / str(descriptor))


def target(driver: str, address: Mapping[str, Any], database: str) -> Target:
    """What a program may know of the server. `address` is `Address.arguments`."""
    ssl = address.get("ssl") or {}
    return Target(
        database=database,
        user=address.get("user", ""),
        family=family_of(driver),
        socket=address.get("unix_socket"),
        host=address.get("host"),
        port=address.get("port"),
        certificate=ssl.get("ca"),
        password=address.get("password", ""),
        option_file=option_file(driver, address, database),
        listener_user=(address.get("listener") or {}).get("user"),
    )


def cannot_start(program: str) -> str | None:
    """Why a program cannot be started; None if nothing speaks against it."""
    if shutil.which(program):
        return None
    if os.sep not in program:
        return f"{program}: there is no such program on PATH"
    if not os.path.exists(program):
        return f"{program}: there is no such file"
    return f"{program}: it is not executable" if os.path.isfile(program) else f"{program}: it is no file"


def _send(kind: str, **content: Any) -> None:
    sys.stdout.write(json.dumps({"kind": kind, **content}, separators=(",", ":")) + "\n")
    sys.stdout.flush()


class _Stopped(Exception):
    """The runner wants no more."""


def _receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        raise _Stopped
    message: dict[str, Any] = json.loads(line)
    return message


def main() -> None:
    """Drive one program from specification to totals."""
    driven: RunningProgram | None = None

    def stop(_signal: int, _frame: FrameType | None) -> None:
        if driven is None or not driven.loads:
            raise _Stopped
        driven.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        told = _receive()
        spec = Spec.of(told["spec"])
        make_program = importlib.import_module(spec.module).make_program
        where = target(told["driver"], told["address"], told["database"])
        program: Program = make_program(spec, where)
        if why := cannot_start(program.argv[0]):
            _send("failed", error=f"cannot start {why}")
            return
        driven = RunningProgram(program, spec.operations[0], lambda row: _send("second", row=row), where.password)
        driven.adopt()
        if program.ready is not None:
            driven.connect()
            if driven.error:
                _send("failed", error=f"{driven.name}: {driven.error}")
                return
        _send("ready")
        _receive()
        _send("probed", probes=[])
        _receive()
        _send("made")
        start_ns = _receive()["start_ns"]
        time.sleep(max(0, start_ns - time.monotonic_ns()) / 1e9)
        driven.run(start_ns, spec.seconds)
    except CannotDrive as error:
        _send("failed", error=str(error))
        return
    except _Stopped:
        _send("failed", error="stopped before its load began")
        return
    finally:
        if driven is not None:
            driven.close()
    _send("done", totals=totals(driven, start_ns, spec.seconds), probes=[])


def totals(driven: RunningProgram, start_ns: int, seconds: float | None) -> dict[str, Any]:
    """The totals of table `workers`, with what is not known and why. T ends with the last interval that it reported."""
    error = driven.error and f"{driven.name}: {driven.error}"
    return {
        "status": "failed" if error else "interrupted" if driven.stopped else "complete",
        "error": error,
        "end_ns": start_ns + round(driven.seconds.end_s * 1e9),
        "ops": driven.seconds.ops,
        "rows": None,
        "errors": driven.seconds.errors,
        "retries": driven.seconds.retries,
        "unknown": None,
        "cpu_user_s": driven.cpu[0],
        "cpu_system_s": driven.cpu[1],
        "client_lag_p99_us": None,
        "service_p50_us": None,
        "unrecorded_s": None,
        "rows_by_table": dict(driven.program.rows_by_table()),
        "outcomes": [],
        "limits": driven.limits(),
        "ops_from": "rates" if driven.seconds.from_rates else "counts",
        "warnings": driven.warnings(seconds),
        "null_reasons": driven.null_reasons(),
    }


if __name__ == "__main__":
    main()
