"""All collectors of a run: found, started, and ended together; what each did and cost is in its report."""

from __future__ import annotations

import importlib
import pkgutil
import threading
import time
from collections.abc import Iterable
from types import TracebackType

from ibench_lib import capture
from ibench_lib.base.collector_report import CollectorReport
from ibench_lib.capture.collector import Collector, Emit, Scene, Unavailable
from ibench_lib.capture.options import CaptureOptions


def collectors() -> dict[str, type[Collector]]:
    """Every collector that a module of this folder defines, by name."""
    found: dict[str, type[Collector]] = {}
    for module in pkgutil.iter_modules(capture.__path__):
        content = vars(importlib.import_module(f"{capture.__name__}.{module.name}"))
        for value in content.values():
            ours = isinstance(value, type) and issubclass(value, Collector) and hasattr(value, "name")
            if ours and value.__module__ == f"{capture.__name__}.{module.name}":
                found[value.name] = value
    return dict(sorted(found.items()))


class Capture:
    """Context manager: the collectors that the experiment wants run while it is open."""

    def __init__(self, scene: Scene, emit: Emit, kinds: Iterable[type[Collector]] | None = None) -> None:
        if kinds is None:
            kinds = [kind for kind in collectors().values() if _wanted(kind, scene.options)]
        self._running = [_Running(kind(scene, emit), scene.origin_ns) for kind in kinds]

    def __enter__(self) -> Capture:
        for running in self._running:
            running.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for running in self._running:
            running.stop.set()
        begun_s = time.monotonic()
        for running in self._running:  # they close side by side
            running.join(begun_s + running.collector.close_s)

    def step_ended(self, step_id: int, step: str) -> None:
        """Tell every collector. Returns when all have done what they do at a step's end."""
        for running in self._running:
            running.step_ended(step_id, step)

    def reports(self) -> list[CollectorReport]:
        """One per collector."""
        return [running.report() for running in self._running]

    def null_reasons(self) -> dict[str, str]:
        """`table.column` -> why it is NULL; `table` -> why it has no row, or not all of them."""
        found: dict[str, str] = {}
        for running in self._running:
            found.update(running.nothing())
            found.update(running.collector.null_reasons)
        return found

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

    def join(self, deadline_s: float) -> None:
        if self.thread.ident is None:
            return
        self.thread.join(max(0.0, deadline_s - time.monotonic()))
        if self.thread.is_alive():
            self._reason = f"still at work {self.collector.close_s:.0f} s after the run had ended"

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
            self._reason = f"still at work {self.collector.step_end_s:.0f} s after the end of {step}; not asked again"

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
        while not self.stop.wait(max(0.0, (self._origin_ns + number * every_ns - time.monotonic_ns()) / 1e9)):
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

    def _now_s(self) -> float:
        return (time.monotonic_ns() - self._origin_ns) / 1e9


def _wanted(kind: type[Collector], options: CaptureOptions) -> bool:
    return kind.name not in options.off and kind.wanted(options)


def _said(error: Exception) -> str:
    first = (str(error).strip() or "no message").splitlines()[0]
    return f"{type(error).__name__}: {first}"
