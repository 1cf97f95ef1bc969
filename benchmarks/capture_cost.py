"""What capture costs: throughput while all default collectors sample and while none does, on one server.

    python -m benchmarks.capture_cost            measure and write its section of docs/performance.md
    python -m benchmarks.capture_cost --quick    short steps, print only

Whole steps with and without capture cannot be compared on a shared machine: two equal steps differ by 20 %. So the
collectors sample in some blocks of a step and hold still in the others, in the order on, off, off, on; two neighbours
are a pair. Clients and server want more than both cores, so what a collector takes is missing. The clients' own seconds
are journaled all the time, and the InnoDB metrics that capture switches on are on all the time.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.performance_page import write_section
from ibench_lib.base.collector_report import CollectorReport
from ibench_lib.capture.collector import Collector, Scene
from ibench_lib.capture.host_facts import host_facts
from ibench_lib.capture.options import CaptureOptions
from ibench_lib.capture.session import Capture, collectors
from ibench_lib.client.mysql.connection import Connection
from ibench_lib.lake.writer import RunWriter
from ibench_lib.paths import workspace
from ibench_lib.run.step import WorkerState, run_step
from ibench_lib.run.step_rows import StepRecorder
from ibench_lib.servers.find import find_system
from ibench_lib.servers.flavours.innodb_places import PLACES
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.workloads.insert_benchmark import steps as steps_of
from ibench_lib.workloads.insert_benchmark.options import Options, Setup
from ibench_lib.workloads.insert_benchmark.steps import Step
from ibench_lib.workloads.insert_benchmark.workload import WORKLOAD

NAME = "capture_cost"
CLIENTS = 2
DATABASE = "ibench"
MY_CNF = (
    "[mysqld]\nskip_log_bin\ninnodb_buffer_pool_size=1G\ninnodb_flush_log_at_trx_commit=2\n"
    "innodb_log_file_size=512M\ninnodb_adaptive_hash_index=OFF\n"
)
GOAL = 0.02


SETUP = Setup(name="one", l_i0_rows=200_000, l_i1_rows=1, l_i2_rows=1, query_seconds=1.0)
BLOCK_S = 2


class Gate:
    """Open in the blocks of a step in which collectors sample."""

    def __init__(self) -> None:
        self.start_ns: int | None = None
        self.passed = self.held = 0

    def block_is_on(self, number: int) -> bool:
        return number % 4 in (0, 3)

    def is_open(self) -> bool:
        if self.start_ns is None:
            return False
        return self.block_is_on((time.monotonic_ns() - self.start_ns) // (BLOCK_S * 1_000_000_000))


def gated(kind: type[Collector], gate: Gate) -> type[Collector]:
    """The collector, holding still while the gate is closed."""

    class Gated(kind):  # type: ignore[misc, valid-type]
        def sample(self, tick: int, now_s: Callable[[], float]) -> None:
            if gate.is_open():
                gate.passed += 1
                super().sample(tick, now_s)
            else:
                gate.held += 1

    return Gated


class Bench:
    """One server with loaded tables, on which steps run with or without collectors."""

    def __init__(
        self, box: Sandbox, address: dict[str, Any], scratch: Path, steps: list[Step], options: Options
    ) -> None:
        self.box, self.address, self.scratch = box, address, scratch
        self.steps, self.options = steps, options
        self.origin_ns = time.monotonic_ns()
        self.writer = RunWriter(scratch / "runs" / "capture-cost")
        self.reports: list[CollectorReport] = []
        connection = Connection(address, None, timeout_s=60)
        connection.query(f"CREATE DATABASE {DATABASE}")
        connection.query(f"USE {DATABASE}")
        for statement in WORKLOAD.prepare(options, SETUP):
            connection.query(statement)
        connection.close()

    def step(self, number: int, gate: Gate | None = None) -> list[int]:
        """Run a step of the plan; returns what it did in each of its full seconds: rows, or queries."""
        step = self.steps[number]
        recorder = StepRecorder(self.writer, self.origin_ns, number, step, CLIENTS, 0)
        role, column = ("querier", "ops") if step.query else ("inserter", "rows")
        done: dict[int, dict[int, int]] = {}

        def started(states: list[WorkerState], start_ns: int) -> None:
            recorder.started(states, start_ns)
            if gate is not None:
                gate.start_ns = start_ns

        def second(state: WorkerState, row: dict[str, Any]) -> None:
            recorder.second(state, row)
            if state.worker.role == role:
                done.setdefault(row["second"], {})[state.number] = row[column]

        result = run_step(
            workers=[
                (worker, WORKLOAD.spec(self.options, step, worker, number))
                for worker in WORKLOAD.workers(self.options, step)
            ],
            operations={operation.name: operation for operation in WORKLOAD.operations},
            address=self.address,
            database=DATABASE,
            server_alive=self.box.alive,
            on_start=started,
            on_second=second,
            on_progress=lambda _states, _start_ns: self.writer.check(),
        )
        if result.failure is not None:
            raise result.failure
        recorder.ended(result, None)
        return [sum(done[number].values()) for number in sorted(done) if len(done[number]) == CLIENTS]

    def pairs(self, number: int) -> list[tuple[float, float]]:
        """(rate with, rate without) in neighbouring blocks of a step, without its first and its last block."""
        gate = Gate()
        kinds = [gated(kind, gate) for kind in collectors().values() if kind.wanted(CaptureOptions())]
        with Capture(self._scene(), self.writer.append, kinds) as capture:
            seconds = self.step(number, gate)
        self.reports += capture.reports()
        blocks = [sum(seconds[at : at + BLOCK_S]) / BLOCK_S for at in range(0, len(seconds) - BLOCK_S, BLOCK_S)]
        found = []
        for first in range(2, len(blocks) - 2, 2):  # blocks 2 and 3 are off and on, 4 and 5 on and off, and so on
            on, off = (first, first + 1) if gate.block_is_on(first) else (first + 1, first)
            found.append((blocks[on], blocks[off]))
        return found

    def _scene(self) -> Scene:
        process = self.box.process
        assert process is not None
        return Scene(
            origin_ns=self.origin_ns,
            address=self.address,
            server_pid=lambda: process.pid,
            datadir=self.box.datadir,
            tmpdir=self.box.tmpdir,
            database=DATABASE,
            tables=tuple(WORKLOAD.tables(self.options, SETUP)),
            variables={},
            places=PLACES,
            scratch=self.scratch,
        )


def plan(write_rows: int, query_s: float) -> tuple[list[Step], Options]:
    """l.i0 and l.x; a write step to warm up; a write and a query step to measure."""
    steps: list[Any] = [
        "l.i0",
        "l.x",
        {"step": "l.i1", "name": "warm", "rows": 100_000},
        {"step": "l.i1", "name": "write", "rows": write_rows},
        {"step": "qr100", "name": "query", "seconds": query_s},
    ]
    options = Options.model_validate({"benchmark": "insert_benchmark", "clients": CLIENTS, "steps": steps})
    return steps_of.plan(options, SETUP, 1.0), options


def report(
    measured: dict[str, list[tuple[float, float]]], reports: list[CollectorReport], server: str, facts: dict[str, Any]
) -> str:
    """The section; `measured` has pairs of (with, without) per kind of step."""
    lines = [
        "# What capture costs",
        "",
        f"Measured with `python -m benchmarks.{NAME}`: one {server}, {facts['usable_cpus']} cores "
        f"({facts['cpu_model']}), "
        f"{CLIENTS} clients.",
        f"Each step is divided into blocks of {BLOCK_S} s. The default collectors run in one block of each "
        f"pair of neighbours "
        "and pause",
        "in the other. The loss of a pair is 1 - with / without; the spread between the pairs is the noise.",
        "",
        "| step | pairs | without, /s | with, /s | median loss | 95 % interval | quartiles of the pairs | "
        "goal | reached |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, pairs in measured.items():
        losses = [1 - on / off for on, off in pairs]
        low, high = interval(losses)
        quartiles = statistics.quantiles(losses, n=4)
        median = statistics.median(losses)
        on, off = (statistics.median(values) for values in zip(*pairs, strict=True))
        lines.append(
            f"| {name} | {len(pairs)} | {off:,.0f} | {on:,.0f} | {median:.1%} | {low:.1%} to {high:.1%} | "
            f"{quartiles[0]:.1%} to {quartiles[2]:.1%} | < {GOAL:.0%} | {'yes' if median < GOAL else 'no'} |"
        )
    lines += ["", "| collector | interval | CPU of a core | time per sample, ms |", "|---|---|---|---|"]
    for name in sorted({found.name for found in reports}):
        mine = [found for found in reports if found.name == name]
        samples = sum(found.samples for found in mine) / 2  # the other half held still
        if not samples:
            continue
        every_s = mine[0].every_s
        cpu, busy = (sum(getattr(found, field) for found in mine) / samples for field in ("cpu_s", "busy_s"))
        lines.append(f"| {name} | {every_s} s | {cpu / every_s:.2%} | {busy * 1e3:.1f} |")
    lines += [
        "",
        "The time per sample includes the server's work on the answer, and waiting for a core that is busy "
        "with the load. The",
        "InnoDB metrics that capture switches on are counting all the time, in both kinds of blocks.",
    ]
    return "\n".join(lines)


def interval(values: list[float], resamples: int = 2000) -> tuple[float, float]:
    """Bootstrap interval (95 %) of the median."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(resamples))
    return medians[int(0.025 * resamples)], medians[int(0.975 * resamples) - 1]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="short steps, print only")
    quick = arguments.parse_args().quick
    write_rows, query_s = (700_000, 24.0) if quick else (4_000_000, 160.0)
    steps, options = plan(write_rows, query_s)
    build = find_system(workspace())
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        (scratch / "my.cnf").write_text(MY_CNF)
        box = Sandbox(build, scratch / "box", scratch / "my.cnf", scratch / "log")
        with box as where:
            bench = Bench(box, where.arguments(), scratch, steps, options)
            for number in range(3):
                bench.step(number)
            measured = {"l.i1, rows": bench.pairs(3), "qr100, queries": bench.pairs(4)}
        text = report(measured, bench.reports, f"{build.flavour} {build.version}", host_facts(scratch))
    print(text)
    if not quick:
        write_section(NAME, text)


if __name__ == "__main__":
    main()
