"""The minute-long measurements run at the same time as the other tests of this folder, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from ibench_lib.base.tether import tethered
from tests.fakes.priority import may_come_first
from tests.measurement.harness import Measured
from tests.measurement.timed import SECONDS, STEPS
from tests.places import ROOT

LATEST_END_S = SECONDS + 60


class TimedRuns:
    """Started all at once; `result` waits for one."""

    def __init__(self) -> None:
        self._processes = {
            name: subprocess.Popen(
                tethered([sys.executable, "-m", "tests.measurement.timed", name]),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=ROOT,
            )
            for name in STEPS
        }
        self._outputs: dict[str, tuple[str, str]] = {}

    def result(self, name: str) -> Measured:
        process = self._processes[name]
        if name not in self._outputs:
            self._outputs[name] = process.communicate(timeout=LATEST_END_S)
        output, errors = self._outputs[name]
        assert process.returncode == 0, errors
        return Measured.from_json(output)

    def undisturbed(self, name: str) -> Measured:
        """As `result`; the test is skipped where the machine gave others the time that the clients needed."""
        measured = self.result(name)
        p99_ms, p999_ms = measured.machine_late_ms or (0.0, 0.0)
        if p99_ms > 0.5 or p999_ms > 5:
            pytest.skip(f"the machine was busy: a thread woke {p99_ms:.1f} ms late (p99), {p999_ms:.1f} ms (p99.9)")
        return measured

    def wait(self) -> None:
        for name in self._processes:
            self.result(name)

    def end(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()


@pytest.fixture(scope="session")
def timed() -> Iterator[TimedRuns]:
    """Where the system lets them be scheduled first, other tests go on meanwhile; elsewhere the machine is theirs."""
    runs = TimedRuns()
    try:
        if not may_come_first():
            runs.wait()
        yield runs
    finally:
        runs.end()


@pytest.fixture(scope="session", autouse=True)
def _timed_begin_early(request: pytest.FixtureRequest) -> None:
    if any("timed" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("timed")
