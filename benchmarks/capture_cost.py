"""What capture costs: throughput with all default collectors and with none, in interleaved pairs on one server.

    python benchmarks/capture_cost.py            measure and write its section of docs/performance.md
    python benchmarks/capture_cost.py --quick    one short pair, print only

A pair is a write step and a query step with collectors, and the same without, in alternating order; the clients' own
seconds are journaled in both. Clients and server want more than both cores, so what a collector takes is missing.
The noise is what pairs differ from each other: the machine changes its speed, and purge is at work in every step.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.performance_page import write_section
from ibench_lib.capture.collector import Scene
from ibench_lib.capture.host_facts import host_facts
from ibench_lib.capture.session import Capture, Report
from ibench_lib.client.connection import Connection
from ibench_lib.lake.writer import RunWriter
from ibench_lib.paths import workspace
from ibench_lib.servers.find import find_system
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.step import run_step
from ibench_lib.step_record import StepRecorder
from ibench_lib.workloads import insert_benchmark
from ibench_lib.workloads.insert_benchmark import Options, Setup, Step

NAME = "capture_cost"
CLIENTS = 2
DATABASE = "ibench"
MY_CNF = (
    "[mysqld]\nskip_log_bin\ninnodb_buffer_pool_size=1G\ninnodb_flush_log_at_trx_commit=2\n"
    "innodb_log_file_size=512M\ninnodb_adaptive_hash_index=OFF\n"
)
GOAL = 0.02


@dataclass(frozen=True)
class Part:
    """A write and a query step: rows and queries per second."""

    captured: bool
    ips: float
    qps: float


class Bench:
    """One server with loaded tables, on which steps run with or without collectors."""

    def __init__(
        self, box: Sandbox, address: dict[str, Any], scratch: Path, steps: list[Step], options: Options
    ) -> None:
        self.box, self.address, self.scratch = box, address, scratch
        self.steps, self.options = steps, options
        self.origin_ns = time.monotonic_ns()
        self.writer = RunWriter(scratch / "runs" / "capture-cost")
        self.reports: list[Report] = []
        connection = Connection(address, None, timeout_s=60)
        connection.query(f"CREATE DATABASE {DATABASE}")
        connection.query(f"USE {DATABASE}")
        for table in insert_benchmark.tables(options):
            connection.query(insert_benchmark.create_table(table, options))
        connection.close()

    def step(self, number: int) -> float:
        """Run a step of the plan; returns its rows, or queries, per second."""
        step = self.steps[number]
        recorder = StepRecorder(self.writer, self.origin_ns, number, step, CLIENTS, 0)
        result = run_step(
            step=step,
            step_id=number,
            options=self.options,
            workers=insert_benchmark.workers(self.options, step),
            address=self.address,
            database=DATABASE,
            server_alive=self.box.alive,
            on_start=recorder.started,
            on_second=recorder.second,
            on_progress=lambda _states, _start_ns: self.writer.check(),
        )
        if result.failure is not None:
            raise result.failure
        duration_s = recorder.ended(result, None)
        if duration_s == 0:
            return 0.0
        role, column = ("querier", "ops") if step.query else ("inserter", "rows")
        return sum(state.counted[column] for state in result.workers if state.worker.role == role) / duration_s

    def part(self, first: int, captured: bool) -> Part:
        """The write step `first` and the query step after it."""
        if not captured:
            return Part(captured, self.step(first), self.step(first + 1))
        with Capture(self._scene(), self.writer.append) as capture:
            part = Part(captured, self.step(first), self.step(first + 1))
        self.reports += capture.reports()
        return part

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
            tables=tuple(insert_benchmark.tables(self.options)),
            variables={},
            scratch=self.scratch,
        )


def plan(pairs: int, write_rows: int, query_s: float) -> tuple[list[Step], Options]:
    """l.i0 and l.x, then a write and a query step to warm up, and for each half of each pair."""
    steps: list[Any] = ["l.i0", "l.x"]
    for number in range(2 * pairs + 1):
        steps.append({"step": "l.i1", "name": f"write{number}", "rows": write_rows})
        steps.append({"step": "qr100", "name": f"query{number}", "seconds": query_s})
    options = Options.model_validate({"benchmark": "insert_benchmark", "clients": CLIENTS, "steps": steps})
    setup = Setup(name="one", l_i0_rows=200_000, l_i1_rows=1, l_i2_rows=1, query_seconds=1.0)
    return insert_benchmark.plan(options, setup, 1.0), options


def report(pairs: list[tuple[Part, Part]], reports: list[Report], server: str, facts: dict[str, Any]) -> str:
    """The section; `pairs` are (with, without)."""
    lines = [
        "## What capture costs",
        "",
        f"{len(pairs)} interleaved pairs on one {server}, {facts['usable_cpus']} cores ({facts['cpu_model']}), "
        f"{CLIENTS} clients:",
        "with all default collectors, and with none. Loss is 1 - with / without, within a pair.",
        "",
        "| step | without | with | loss: median (min to max) | 95 % interval of the median | goal | reached |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, unit in (("ips", "rows/s, l.i1"), ("qps", "queries/s, qr100")):
        rates = [(getattr(on, name), getattr(off, name)) for on, off in pairs]
        losses = [1 - on / off for on, off in rates]
        low, high = interval(losses)
        median = statistics.median(losses)
        on, off = (statistics.median(values) for values in zip(*rates, strict=True))
        lines.append(
            f"| {unit} | {off:,.0f} | {on:,.0f} | {median:.1%} ({min(losses):.1%} to {max(losses):.1%}) | "
            f"{low:.1%} to {high:.1%} | < {GOAL:.0%} | {'yes' if median < GOAL else 'no'} |"
        )
    lines += ["", "| collector | every | CPU of a core | answered in, ms |", "|---|---|---|---|"]
    for name in sorted({found.name for found in reports}):
        mine = [found for found in reports if found.name == name]
        samples = sum(found.samples for found in mine)
        if not samples:
            continue
        every_s = mine[0].every_s
        cpu, busy = (sum(getattr(found, field) for found in mine) / samples for field in ("cpu_s", "busy_s"))
        lines.append(f"| {name} | {every_s} s | {cpu / every_s:.2%} | {busy * 1e3:.1f} |")
    lines += ["", "The time in which the server answers is its own work and waiting for a core that the load has."]
    return "\n".join(lines)


def interval(values: list[float], resamples: int = 2000) -> tuple[float, float]:
    """Bootstrap interval (95 %) of the median."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(resamples))
    return medians[int(0.025 * resamples)], medians[int(0.975 * resamples) - 1]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="one short pair, print only")
    arguments.add_argument("--pairs", type=int, default=10, help="how many pairs (10)")
    given = arguments.parse_args()
    pairs, write_rows, query_s = (1, 20_000, 2.0) if given.quick else (given.pairs, 200_000, 8.0)
    steps, options = plan(pairs, write_rows, query_s)
    build = find_system(workspace())
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        (scratch / "my.cnf").write_text(MY_CNF)
        box = Sandbox(build, scratch / "box", scratch / "my.cnf", scratch / "log")
        with box as where:
            bench = Bench(box, where.arguments(), scratch, steps, options)
            bench.step(0), bench.step(1)
            bench.part(2, True)  # warm: the first churn after the load is unlike those after it
            found: list[tuple[Part, Part]] = []
            bench.reports.clear()
            for pair in range(pairs):
                order = (True, False) if pair % 2 == 0 else (False, True)
                parts = {on: bench.part(4 + 2 * (2 * pair + half), on) for half, on in enumerate(order)}
                found.append((parts[True], parts[False]))
                print(f"pair {pair + 1} of {pairs}: {found[-1]}", flush=True)
        text = report(found, bench.reports, f"{build.flavour} {build.version}", host_facts(scratch))
    print(text)
    if not given.quick:
        write_section(NAME, text)


if __name__ == "__main__":
    main()
