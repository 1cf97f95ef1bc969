"""What a short step costs, against a sampler that shares no code with the library and watches the same machine."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.capture.block_device import device_below
from ibench_lib.paths import Workspace
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.servers.build import Build
from ibench_lib.store import reader
from ibench_lib.workloads.workload import Step
from tests.audit import proc_sampler
from tests.measurement.real import HandOn, run, table
from tests.synthetic import answer

pytestmark = pytest.mark.lake

EVERY_S = 0.05  # so that what happens between two samples is at most 2 % of a step of 3 s
NEAR_S = 0.2  # so far from an end may the library's reading be, on a machine that has much else to do
AGREE = 0.05
TICKS_S = 0.04  # CPU is counted in ticks of 10 ms, at two ends, by two who read


class Sampled(HandOn):
    """Starts the sampler with the first step, and notes when the load of each step began."""

    def __init__(self, output: Path) -> None:
        super().__init__()
        self.output = output
        self.sampler: subprocess.Popen[bytes] | None = None
        self.started_s: dict[str, float] = {}

    def step_begins(self, step: Step) -> None:
        if self.sampler is None:
            assert self.sandbox is not None
            device, _ = device_below(self.sandbox.datadir)
            arguments = [str(self.server.pid), str(EVERY_S), *([device] if device else [])]
            with self.output.open("w") as output:
                self.sampler = subprocess.Popen(
                    [sys.executable, "-S", proc_sampler.__file__, *arguments], stdin=subprocess.PIPE, stdout=output
                )

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None:
        self.started_s.setdefault(step.name, time.monotonic() - elapsed_s)

    def samples(self) -> list[dict[str, float]]:
        assert self.sampler is not None
        self.sampler.communicate()
        return [json.loads(line) for line in self.output.read_text().splitlines()]


def at(samples: list[dict[str, float]], moment_s: float, counter: str) -> tuple[float, float]:
    """A counter at a moment, on the line between two samples, and how much it grew in NEAR_S before and after it."""
    value = None
    near = []
    for before, after in pairwise(samples):
        if before["at_s"] <= moment_s <= after["at_s"]:
            part = (moment_s - before["at_s"]) / (after["at_s"] - before["at_s"])
            value = before[counter] + part * (after[counter] - before[counter])
        if after["at_s"] >= moment_s - NEAR_S and before["at_s"] <= moment_s + NEAR_S:
            near += [before[counter], after[counter]]
    assert value is not None, f"no sample around {moment_s}"
    return value, max(near) - min(near)


@pytest.mark.long
@pytest.mark.timing
def test_costs_of_short_steps_are_those_of_an_independent_sampler(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand = Sampled(tmp_path / "samples")
    try:
        run(hand, build, workspace, monkeypatch, steps="l.i0, l.x, l.i1, qr100, qp100", rows=20_000, seconds=3)
    finally:
        samples = hand.samples()
    frame = answer(reader.lake(workspace), "step_metrics", experiment="hand")
    compared = 0
    wrong = []
    for row in frame.to_dicts():
        step, took_s = row["step"], row["duration_s"]
        if took_s < 2:
            continue
        start_s = hand.started_s[step]
        grown, at_the_ends = {}, {}
        for counter in samples[0].keys() - {"at_s"}:
            (first, before), (last, after) = (at(samples, s, counter) for s in (start_s, start_s + took_s))
            grown[counter], at_the_ends[counter] = last - first, before + after
        operations = row["throughput"] * took_s
        own = {
            "cpupq": (1e6 * grown["host_cpu_s"] / operations, 1e6 * TICKS_S / operations),
            "scpupq": (1e6 * grown["server_cpu_s"] / operations, 1e6 * TICKS_S / operations),
            "cspq": (grown["switches"] / operations, 0.0),
        }
        if "writes" in grown:
            # Writes come in bursts: of those near an end, nobody knows on which side of a reading they were.
            own["wps"] = (grown["writes"] / took_s, at_the_ends["writes"] / took_s)
            own["wmbps"] = (grown["written_kb"] / 1024 / took_s, at_the_ends["written_kb"] / 1024 / took_s)
        for name, (expected, unsure) in own.items():
            compared += 1
            if row[name] != pytest.approx(expected, rel=AGREE, abs=unsure):
                wrong.append(f"{step} of {took_s:.1f} s: {name} is {row[name]}, the sampler has {expected:.4g}")
    assert compared >= 6, "there are short steps to compare"
    assert not wrong, wrong
    assert frame.filter(frame["duration_s"] >= 2)["covered"].min() > 0.95  # type: ignore[operator]


@pytest.mark.long
@pytest.mark.timing
def test_readings_at_the_ends_of_steps_are_no_samples(
    build: Build, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(HandOn(), build, workspace, monkeypatch, steps="l.i0, l.x, qr100", rows=10_000, seconds=2)
    for name in ("host_samples", "process_samples", "server_samples"):
        ticks = [row["tick"] for row in table(workspace, name)]
        assert ticks == sorted(set(ticks)), name
        assert all(row["tick"] <= row["t_s"] < row["tick"] + 1 for row in table(workspace, name)), name
    gaps = answer(reader.lake(workspace), "gaps", experiment="hand")
    assert gaps.filter(problem="seconds without a history list sample").is_empty()
    of_steps: dict[tuple[str, str], dict[str, Any]] = {}
    for row in table(workspace, "step_counters"):
        of_steps.setdefault((row["step"], row["source"]), row)
    sources = {source for step, source in of_steps if step == "qr100"}
    assert {"host", "process", "server", "network"} <= sources
    for step in table(workspace, "steps"):
        read = of_steps[step["step"], "host"]
        assert read["start_s"] == pytest.approx(step["start_s"], abs=0.5)
        assert read["end_s"] == pytest.approx(step["end_s"], abs=0.5)
