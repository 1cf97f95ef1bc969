"""All collectors of a run: found, started, and ended together; what each did and cost is in its report.

A step's counters are read by the collectors' own threads, at the moments at which its clients start and have ended.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
from types import TracebackType

from ibench_lib import capture, plugins
from ibench_lib.base.collector_report import CollectorReport
from ibench_lib.capture.collector import CaptureTarget, Collector, Emit, Unavailable
from ibench_lib.capture.options import CaptureOptions
from ibench_lib.capture.step_counters import Reading, counted, cumulative

READ_WITHIN_S = 2.0
"""How long counters are waited for, before a step starts and after it has ended."""


def collectors(family: str | None = None) -> dict[str, type[Collector]]:
    """Every collector that a module of this folder, a family of servers or an installed package defines, by name.

    With `family`, of the families' collectors only those of this one.
    """
    collectors: dict[str, type[Collector]] = {}
    for module in plugins.modules("collectors", capture, None if family is None else [family]):
        for value in vars(module).values():
            ours = isinstance(value, type) and issubclass(value, Collector) and hasattr(value, "name")
            if ours and value.__module__ == module.__name__:
                collectors[value.name] = value
    return dict(sorted(collectors.items()))


class Capture:
    """Context manager: the collectors that the experiment wants run while it is open."""

    def __init__(self, scene: CaptureTarget, emit: Emit, kinds: Iterable[type[Collector]] | None = None) -> None:
        if kinds is None:
            kinds = [kind for kind in collectors(scene.family).values() if _wanted(kind, scene.options)]
        self._running = [_Running(kind(scene, emit), scene.origin_ns) for kind in kinds]
        self._emit = emit
        self._unread: dict[str, str] = {}

    def __enter__(self) -> Capture:
        for running in self._running:
            running.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for running in self._running:
            running.end()
        begun_s = time.monotonic()
        for running in self._running:  # they close side by side
            running.join(begun_s + running.collector.close_s)

    def step_ready(self) -> None:
        """Have the collectors that read before a step's start do so. Returns when they have, or after READ_WITHIN_S."""
        early = [running for running in self._running if running.collector.reads_before_start]
        for running in early:
            running.start = running.read_at(time.monotonic_ns(), starts=True)
        deadline_s = time.monotonic() + READ_WITHIN_S
        for running in early:
            if running.start is not None:
                running.wait_for(running.start, deadline_s)

    def step_starts(self, start_ns: int) -> None:
        """Have every other collector read its counters at `start_ns` (CLOCK_MONOTONIC). Returns at once."""
        for running in self._running:
            if not running.collector.reads_before_start:
                running.start = running.read_at(start_ns, starts=True)

    def step_stops(self) -> None:
        """Have every collector read its counters now, because the last client has ended. Returns at once."""
        for running in self._running:
            running.stopped = running.read_at(time.monotonic_ns(), starts=False)

    def step_counted(self, step_id: int, step: str) -> None:
        """Emit what the counters grew by, when all are read or READ_WITHIN_S are over."""
        deadline_s = time.monotonic() + READ_WITHIN_S
        for running in self._running:
            start, stopped, running.start, running.stopped = running.start, running.stopped, None, None
            if start is None or stopped is None:
                continue
            running.wait_for(stopped, deadline_s)
            reason = start.reason or stopped.reason
            if not stopped.done.is_set() and not running.thread.is_alive():
                continue  # why there is nothing, its own tables say
            if reason is not None or not (start.done.is_set() and stopped.done.is_set()):
                name = running.collector.name
                self._unread["step_counters"] = f"{name} in {step}: {reason or 'no answer in time'}"
                continue
            for row in counted(start.found, stopped.found):
                self._emit("step_counters", step_id=step_id, step=step, **row)

    def step_ended(self, step_id: int, step: str) -> None:
        """Tell every collector. Returns when all have done what they do at a step's end."""
        for running in self._running:
            running.step_ended(step_id, step)

    def reports(self) -> list[CollectorReport]:
        """One per collector."""
        return [running.report() for running in self._running]

    def null_reasons(self) -> dict[str, str]:
        """`table.column` -> why it is NULL; `table` -> why it has no row, or not all of them."""
        reasons = dict(self._unread)
        for running in self._running:
            reasons.update(running.nothing())
            reasons.update(running.collector.null_reasons)
        return reasons

    def warnings(self) -> list[str]:
        """Sentences for the manifest."""
        return [warning for running in self._running for warning in running.collector.warnings]


class _Running:
    """One collector with its thread."""

    def __init__(self, collector: Collector, origin_ns: int) -> None:
        self.collector = collector
        self.stop = collector.stopping
        self.thread = threading.Thread(target=self._run, name=f"capture-{collector.name}", daemon=True)
        self._origin_ns = origin_ns
        self._samples = self._missed = 0
        self._cpu_s = self._step_cpu_s = self._busy_s = 0.0
        self._hangs = False
        self._reason: str | None = None
        self._woken = threading.Event()
        self._asked: deque[Reading] = deque()
        self.start: Reading | None = None
        self.stopped: Reading | None = None

    def end(self) -> None:
        """Have the thread close its collector and end."""
        self.stop.set()
        self._woken.set()

    def read_at(self, at_ns: int, *, starts: bool) -> Reading | None:
        """Have the counters read at a moment; None for a collector without any."""
        if type(self.collector).counters is Collector.counters:
            return None
        reading = Reading(at_ns, starts=starts)
        self._asked.append(reading)
        self._woken.set()
        return reading

    def wait_for(self, reading: Reading, deadline_s: float) -> None:
        while self.thread.is_alive() and (left_s := deadline_s - time.monotonic()) > 0:
            if reading.done.wait(min(left_s, 0.1)):
                return

    def join(self, deadline_s: float) -> None:
        if self.thread.ident is None:
            return
        self.thread.join(max(0.0, deadline_s - time.monotonic()))
        if self.thread.is_alive():
            self._reason = f"still running {self.collector.close_s:.0f} s after the end of the run"

    def step_ended(self, step_id: int, step: str) -> None:
        if type(self.collector).step_ended is Collector.step_ended or self._hangs:
            return

        def work() -> None:
            begun_ns = time.monotonic_ns()
            try:
                self.collector.step_ended(step_id, step)
            except Exception as error:
                self._reason = f"at the end of {step}: {_said(error)}"
            self._step_cpu_s += time.thread_time()
            self._busy_s += (time.monotonic_ns() - begun_ns) / 1e9

        # In a thread of its own: the run goes on when it does not return.
        worker = threading.Thread(target=work, name=f"{self.thread.name}-step", daemon=True)
        worker.start()
        worker.join(self.collector.step_end_s)
        if worker.is_alive():
            self._hangs = True
            waited_s = self.collector.step_end_s
            self._reason = f"still running {waited_s:.0f} s after the end of {step}; it was not asked again"

    def nothing(self) -> dict[str, str]:
        """Why its tables are empty, where it did not open or no sample came about."""
        if self._samples or self._reason is None:
            return {}
        return dict.fromkeys(self.collector.tables, self._reason)

    def report(self) -> CollectorReport:
        collector = self.collector
        cpu_s = round(self._cpu_s + self._step_cpu_s + collector.children_cpu_s, 6)
        busy_s = round(self._busy_s, 6)
        return CollectorReport(
            collector.name, collector.every_s, self._samples, self._missed, cpu_s, busy_s, self._reason
        )

    def _run(self) -> None:
        try:
            self.collector.open()
            self._sample_until_stopped()
        except Unavailable as nothing:
            self._reason = str(nothing)
        except Exception as error:
            self._reason = _said(error)
        finally:
            try:
                self.collector.close()
            except Exception as error:
                self._reason = self._reason or _said(error)
            self._cpu_s = time.thread_time()

    def _sample_until_stopped(self) -> None:
        every_ns = self.collector.every_s * 1_000_000_000
        number = (time.monotonic_ns() - self._origin_ns) // every_ns + 1
        while not self.stop.is_set():
            self._woken.clear()
            asked = self._asked[0] if self._asked else None
            due_ns = self._origin_ns + number * every_ns
            now_ns = time.monotonic_ns()
            next_ns = due_ns if asked is None else min(due_ns, asked.at_ns)
            if next_ns > now_ns:
                if not self.stop.is_set():
                    self._woken.wait((next_ns - now_ns) / 1e9)
                continue
            if asked is not None and asked.at_ns <= now_ns:
                self._asked.popleft()
                self._read(asked)
                continue
            begun_ns = time.monotonic_ns()
            try:
                self.collector.sample(number * self.collector.every_s, self._now_s)
                self._samples += 1
            except Unavailable:
                raise
            except Exception as error:
                self._missed += 1
                self._reason = _said(error)
            now_ns = time.monotonic_ns()
            self._busy_s += (now_ns - begun_ns) / 1e9
            self._cpu_s = time.thread_time()
            # A slow answer skips the samples it covered: two answers in one second would say nothing new.
            next_number = max(number + 1, (now_ns - self._origin_ns) // every_ns + 1)
            self._missed += next_number - number - 1
            number = next_number

    def _read(self, reading: Reading) -> None:
        begun_ns = time.monotonic_ns()
        try:
            reading.found = cumulative(self.collector.counters(self._now_s, starts=reading.starts))
        except Exception as error:
            reading.reason = _said(error)
        reading.done.set()
        self._busy_s += (time.monotonic_ns() - begun_ns) / 1e9
        self._cpu_s = time.thread_time()

    def _now_s(self) -> float:
        return (time.monotonic_ns() - self._origin_ns) / 1e9


def _wanted(kind: type[Collector], options: CaptureOptions) -> bool:
    return kind.name not in options.off and kind.wanted(options)


def _said(error: Exception) -> str:
    first = (str(error).strip() or "no message").splitlines()[0]
    return f"{type(error).__name__}: {first}"
