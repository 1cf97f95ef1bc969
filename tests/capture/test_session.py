"""The session: collectors are found, run beside each other, and whatever one does is its own affair."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from ibench_lib.base.collector_report import CollectorReport
from ibench_lib.capture.collector import Collector, Unavailable
from ibench_lib.capture.options import CaptureOptions, Profile
from ibench_lib.capture.session import Capture, _wanted, collectors
from ibench_lib.schema import TABLES
from tests.capture.scenes import Sink, scene, until


class Good(Collector):
    name: ClassVar[str] = "good"
    tables: ClassVar[tuple[str, ...]] = ("innodb_status",)

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        self.emit("innodb_status", tick=tick, t_s=now_s(), text="")


class RaisesInOpen(Good):
    name: ClassVar[str] = "raises_in_open"
    tables: ClassVar[tuple[str, ...]] = ("waits",)

    def open(self) -> None:
        raise OSError("no such thing")


class Absent(RaisesInOpen):
    name: ClassVar[str] = "absent"
    tables: ClassVar[tuple[str, ...]] = ("profile_stacks",)

    def open(self) -> None:
        raise Unavailable("install it")


class RaisesInSample(Good):
    name: ClassVar[str] = "raises_in_sample"

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        raise ValueError("bad answer")


class RaisesInClose(Good):
    name: ClassVar[str] = "raises_in_close"

    def close(self) -> None:
        raise RuntimeError("stuck")


class Hangs(Good):
    name: ClassVar[str] = "hangs"
    close_s: ClassVar[float] = 0.3
    step_end_s: ClassVar[float] = 0.2
    let_go: ClassVar[threading.Event] = threading.Event()

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        self.let_go.wait()

    def step_ended(self, step_id: int, step: str) -> None:
        self.let_go.wait()


class Works(Good):
    name: ClassVar[str] = "works"

    def step_ended(self, step_id: int, step: str) -> None:
        begun = time.thread_time()
        while time.thread_time() < begun + 0.2:
            pass


def watched(tmp_path: Path, *kinds: tuple[type[Collector], int]) -> tuple[dict[str, CollectorReport], Capture, Sink]:
    """Until each kind has made so many samples, missed ones included."""
    sink = Sink()
    capture = Capture(scene(tmp_path), sink, [kind for kind, _ in kinds])
    with capture:
        for report, (_, ticks) in enumerate(kinds):
            until(lambda report=report, ticks=ticks: _tried(capture.reports()[report]) >= ticks)  # type: ignore[misc]
        capture.step_ended(0, "l.i0")
    return {report.name: report for report in capture.reports()}, capture, sink


def _tried(report: CollectorReport) -> int:
    return report.samples + report.missed


@pytest.mark.parametrize(
    ("kind", "samples", "missed", "reason"),
    [
        (RaisesInOpen, 0, 0, "OSError: no such thing"),
        (Absent, 0, 0, "install it"),
        (RaisesInSample, 0, 2, "ValueError: bad answer"),
        (RaisesInClose, 2, 0, "RuntimeError: stuck"),
    ],
)
def test_a_collector_that_fails_leaves_the_others_alone(
    kind: type[Collector], samples: int, missed: int, reason: str, tmp_path: Path
) -> None:
    reports, capture, sink = watched(tmp_path, (kind, samples + missed), (Good, 2))
    bad = reports[kind.name]
    assert (bad.samples, bad.missed, bad.reason) == (samples, missed, reason)
    good = reports["good"]
    assert (good.samples, good.missed, good.reason) == (2, 0, None)
    ticks = [row["tick"] for row in sink["innodb_status"]]
    assert sorted(set(ticks)) == [1, 2]
    assert capture.null_reasons() == ({} if samples else dict.fromkeys(kind.tables, reason))


def test_a_collector_that_hangs_is_left_behind(tmp_path: Path) -> None:
    begun = time.monotonic()
    reports, _, sink = watched(tmp_path, (Hangs, 0), (Good, 2))
    assert time.monotonic() - begun < 2 + 0.3 + 0.2 + 1.2
    assert reports["hangs"].reason == "still at work 0 s after the run had ended"
    assert [row["tick"] for row in sink["innodb_status"]] == [1, 2]
    assert reports["good"].reason is None
    Hangs.let_go.set()


def test_what_is_done_at_a_steps_end_counts_as_cost(tmp_path: Path) -> None:
    reports, _, _ = watched(tmp_path, (Works, 0), (Good, 0))
    assert 0.2 <= reports["works"].cpu_s <= 0.3
    assert reports["works"].busy_s >= 0.2
    assert reports["good"].cpu_s < 0.05


def test_every_table_of_capture_has_its_collector() -> None:
    found = collectors()
    filled = [table for kind in found.values() for table in kind.tables]
    assert len(filled) == len(set(filled))
    others = {"steps", "workers", "ops", "response_times", "probes", "table_counts", "published"}
    assert set(filled) == set(TABLES) - others


def test_what_costs_runs_only_when_asked_for() -> None:
    def wanted(options: CaptureOptions) -> set[str]:
        return {name for name, kind in collectors().items() if _wanted(kind, options)}

    always = wanted(CaptureOptions())
    assert {"waits", "profile"}.isdisjoint(always)
    assert wanted(CaptureOptions(waits=True, profile=Profile())) == always | {"waits", "profile"}
    assert wanted(CaptureOptions(off=["sizes", "host"])) == always - {"sizes", "host"}
