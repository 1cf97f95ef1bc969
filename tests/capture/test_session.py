"""The session: collectors are found, run next to each other, and whatever one does is its own affair."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ibench_lib.base.collector_report import CollectorReport
from ibench_lib.capture.collector import Collector, Unavailable
from ibench_lib.capture.session import Capture
from tests.capture.scenes import Sink, scene
from tests.waiting import PATIENCE_S, until


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
            until(lambda report=report, ticks=ticks: _tried(capture.reports()[report]) >= ticks, "samples")  # type: ignore[misc]
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
@pytest.mark.slow
def test_a_collector_that_fails_leaves_the_others_alone(
    kind: type[Collector], samples: int, missed: int, reason: str, tmp_path: Path
) -> None:
    reports, capture, sink = watched(tmp_path, (kind, samples + missed), (Good, 2))
    bad = reports[kind.name]
    assert bad.reason == reason
    # A third second may begin before the capture ends.
    assert (bad.samples > 0, bad.missed > 0) == (samples > 0, missed > 0) and _tried(bad) >= samples + missed
    good = reports["good"]
    assert good.samples >= 2 and good.reason is None
    assert {1, 2} <= {row["tick"] for row in sink["innodb_status"]}
    assert capture.null_reasons() == ({} if samples else dict.fromkeys(kind.tables, reason))


@pytest.mark.slow
def test_a_collector_that_hangs_is_left_behind(tmp_path: Path) -> None:
    reports, _, sink = watched(tmp_path, (Hangs, 0), (Good, 2))
    assert reports["hangs"].reason == "still running 0 s after the end of the run"
    assert [row["tick"] for row in sink["innodb_status"]][:2] == [1, 2]
    assert reports["good"].reason is None
    Hangs.let_go.set()


def test_what_is_done_at_a_steps_end_counts_as_cost(tmp_path: Path) -> None:
    reports, _, _ = watched(tmp_path, (Works, 0), (Good, 0))
    assert 0.2 <= reports["works"].cpu_s <= 0.4
    assert reports["works"].busy_s >= 0.2
    assert reports["good"].cpu_s < 0.05


class Counts(Good):
    """A counter that grows by 1 in a microsecond, on a host that is always busy."""

    name: ClassVar[str] = "counts"
    moments: ClassVar[list[float]] = []

    def counters(self, now_s: Callable[[], float], *, starts: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        t_s = now_s()
        self.moments.append(t_s)
        yield "host_samples", {"t_s": t_s, "context_switches": round(t_s * 1e6), "interrupts": 1000 - len(self.moments)}


class Restarts(Good):
    name: ClassVar[str] = "restarts"

    def counters(self, now_s: Callable[[], float], *, starts: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        t_s = now_s()
        yield "process_samples", {"t_s": t_s, "pid": round(t_s * 1e6), "cpu_user_s": t_s}


class ReadsBefore(Good):
    name: ClassVar[str] = "reads_before"
    reads_before_start: ClassVar[bool] = True

    def counters(self, now_s: Callable[[], float], *, starts: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        time.sleep(0.3)
        t_s = now_s()
        yield "host_samples", {"t_s": t_s, "context_switches": round(t_s * 1e6)}


class HangsInCounters(Good):
    name: ClassVar[str] = "hangs_in_counters"
    let_go: ClassVar[threading.Event] = threading.Event()

    def counters(self, now_s: Callable[[], float], *, starts: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        self.let_go.wait()
        return iter(())


def test_the_counters_of_a_step_are_read_at_its_ends_and_are_no_samples(tmp_path: Path) -> None:
    sink, watched = Sink(), scene(tmp_path)
    kinds = [Counts, Restarts, Good]
    with Capture(watched, sink, kinds) as capture:
        start_ns = time.monotonic_ns() + 100_000_000
        capture.step_starts(start_ns)
        until(lambda: time.monotonic_ns() > start_ns and Counts.moments, "the start has been read")
        capture.step_stops()
        capture.step_counted(3, "qr100")
    (row,) = sink["step_counters"]
    assert row | {"start_s": 0, "end_s": 0, "start_value": 0, "end_value": 0} == {
        "step_id": 3, "step": "qr100", "source": "host", "name": "", "counter": "context_switches",
        "start_s": 0, "end_s": 0, "start_value": 0, "end_value": 0,
    }  # fmt: skip
    # One that went down, and those of a process that another one has replaced, have no row.
    assert [row["start_s"], row["end_s"]] == Counts.moments[-2:]
    assert row["start_s"] >= (start_ns - watched.origin_ns) / 1e9
    assert row["end_value"] - row["start_value"] == pytest.approx((row["end_s"] - row["start_s"]) * 1e6, abs=2)
    assert "host_samples" not in sink.rows
    assert [row["tick"] for row in sink["innodb_status"]] == sorted(row["tick"] for row in sink["innodb_status"])


def test_counters_read_before_the_start_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ibench_lib.capture.session.READ_WITHIN_S", PATIENCE_S)
    sink, watched = Sink(), scene(tmp_path)
    with Capture(watched, sink, [ReadsBefore]) as capture:
        capture.step_ready()
        start_ns = time.monotonic_ns()
        capture.step_starts(start_ns)
        capture.step_stops()
        capture.step_counted(0, "l.i0")
    (row,) = sink["step_counters"]
    assert row["start_s"] <= (start_ns - watched.origin_ns) / 1e9 < row["end_s"]


def test_counters_that_cannot_be_read_hold_nothing_up_and_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ibench_lib.capture.session.READ_WITHIN_S", 0.2)
    sink = Sink()
    with Capture(scene(tmp_path), sink, [Counts, Absent, HangsInCounters]) as capture:
        capture.step_starts(time.monotonic_ns())
        capture.step_stops()
        capture.step_counted(0, "l.i0")
        HangsInCounters.let_go.set()
    assert {row["source"] for row in sink["step_counters"]} <= {"host"}
    assert capture.null_reasons()["step_counters"] == "hangs_in_counters in l.i0: no answer in time"
