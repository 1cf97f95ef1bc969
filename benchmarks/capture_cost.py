"""What capture costs: throughput while all default collectors sample and while none does, on one server.

    python -m benchmarks.capture_cost            measure and write its section of docs/performance.md
    python -m benchmarks.capture_cost --quick    short steps, print only
    python -m benchmarks.capture_cost --waits --build mysql-9.7    what `capture: {waits: true}` costs on a build

Whole steps with and without capture cannot be compared on a shared machine: two equal steps differ by 20 %. So the
collectors sample in some blocks of a step and hold still in the others, in the order on, off, off, on; two neighbours
are a pair. Clients and server want more than both cores, so what a collector takes is missing. The clients' own seconds
are journaled all the time, and the InnoDB metrics that capture switches on are on all the time.

With --waits the server has performance_schema with all its locks instrumented from the start, as the fragment `psm`
says, and what is on in some blocks and off in the others are the instruments that the collector `waits` reads.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.performance_page import write_section
from ibench_lib.base.collector_report import CollectorReport
from ibench_lib.capture.collector import CaptureTarget, Collector
from ibench_lib.capture.host_facts import host_facts
from ibench_lib.capture.options import CaptureOptions
from ibench_lib.capture.session import Capture, collectors
from ibench_lib.client.mysql.connection import Connection
from ibench_lib.families.mysql.collectors.waits import PATTERNS
from ibench_lib.families.mysql.connection import connect, rows
from ibench_lib.families.mysql.innodb_places import PLACES
from ibench_lib.paths import workspace
from ibench_lib.runner.step import run_step
from ibench_lib.runner.step_rows import StepRecorder
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.servers.build import Build
from ibench_lib.servers.find import find_build
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.store.writer import RunWriter
from ibench_lib.workloads.insert_benchmark import steps as steps_of
from ibench_lib.workloads.insert_benchmark.options import Options, Setup
from ibench_lib.workloads.insert_benchmark.steps import Step
from ibench_lib.workloads.insert_benchmark.workload import WORKLOAD

NAME = "capture_cost"
CLIENTS = 2
DATABASE = "ibench"
MY_CNF = (
    "[mysqld]\nskip_log_bin\ninnodb_buffer_pool_size=1G\ninnodb_flush_log_at_trx_commit=2\n"
    # MySQL 9 knows only the second of these sizes, MariaDB only the first.
    "loose_innodb_log_file_size=512M\nloose_innodb_redo_log_capacity=512M\ninnodb_adaptive_hash_index=OFF\n"
)
GOAL = 0.02
COLLECTOR_GOAL = 0.01
WITH_WAITS = "performance_schema=ON\nperformance_schema_instrument='wait/synch/%=ON'\n"
POLL_S = 0.02
CANNOT_TELL = (
    '"Cannot tell" means that neighbours differ from each other by more than the goal, as they do on a shared machine.'
)


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


@contextlib.contextmanager
def instruments(address: dict[str, Any], gate: Gate) -> Iterator[None]:
    """The server's instruments of waits are on while the gate is open, and off while it is closed."""
    end = threading.Event()
    failed: list[BaseException] = []

    def switch() -> None:
        try:
            with connect(address) as connection:
                was_open = None
                while not end.wait(POLL_S):
                    if (is_open := gate.is_open()) != was_open:
                        is_on = "YES" if is_open else "NO"
                        named = " OR ".join(f"NAME LIKE '{pattern}'" for pattern in PATTERNS)
                        rows(
                            connection,
                            "UPDATE performance_schema.setup_instruments"
                            f" SET ENABLED = '{is_on}', TIMED = '{is_on}' WHERE {named}",
                        )
                        was_open = is_open
        except BaseException as error:  # raised again below
            failed.append(error)

    thread = threading.Thread(target=switch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
    if failed:
        raise failed[0]


class Bench:
    """One server with loaded tables, on which steps run with or without collectors."""

    def __init__(
        self,
        box: Sandbox,
        address: dict[str, Any],
        scratch: Path,
        steps: list[Step],
        options: Options,
        waits: bool = False,
    ) -> None:
        self.box, self.address, self.scratch = box, address, scratch
        self.steps, self.options, self.waits = steps, options, waits
        self.origin_ns = time.monotonic_ns()
        self.writer = RunWriter(scratch / "runs" / "capture-cost")
        self.reports: list[CollectorReport] = []
        connection = Connection(address, None, timeout_s=60)
        connection.query(f"CREATE DATABASE {DATABASE}")
        connection.query(f"USE {DATABASE}")
        for statement in WORKLOAD.prepare(options, SETUP, "mysql"):
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
            driver="ibench_lib.client.mysql.connection",
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
        if self.waits:
            with instruments(self.address, gate):
                seconds = self.step(number, gate)
        else:
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

    def _scene(self) -> CaptureTarget:
        process = self.box.process
        assert process is not None
        return CaptureTarget(
            origin_ns=self.origin_ns,
            family="mysql",
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
        *_measured_on(server, facts),
        f"Each step is divided into blocks of {BLOCK_S} s. The default collectors run in one block of each pair of"
        " neighbours",
        "and pause in the other. The loss of a pair is 1 - with / without; the spread between the pairs is the noise.",
        "",
        *rates(measured, GOAL),
        "",
        "| collector | interval | CPU of a core | time per sample, ms | at most, of all CPUs |",
        "|---|---|---|---|---|",
    ]
    for name in sorted({found.name for found in reports}):
        mine = [found for found in reports if found.name == name]
        samples = sum(found.samples for found in mine) / 2  # the other half held still
        if not samples:
            continue
        every_s = mine[0].every_s
        cpu, busy = (sum(getattr(found, field) for found in mine) / samples for field in ("cpu_s", "busy_s"))
        most = busy / every_s / facts["usable_cpus"]
        lines.append(f"| {name} | {every_s} s | {cpu / every_s:.2%} | {busy * 1e3:.1f} | {most:.2%} |")
    lines += [
        "",
        "The time per sample includes the server's work on the answer, and waiting for a core that is busy with the",
        "load. The last column is that time as a share of what all cores have in an interval: no collector can take",
        f"more of the rate, and the goal for each is {COLLECTOR_GOAL:.0%}. The InnoDB metrics that capture switches on"
        " are counting all the",
        "time, in both kinds of blocks.",
    ]
    return "\n".join(lines)


def waits_report(measured: dict[str, list[tuple[float, float]]], label: str, server: str, facts: dict[str, Any]) -> str:
    """The section about `capture: {waits: true}`."""
    lines = [
        f"# What capture of waits costs, {server}",
        "",
        *_measured_on(server, facts, f" --waits --build {label}"),
        f"Each step is divided into blocks of {BLOCK_S} s. In one block of each pair of neighbours the instruments of",
        "mutexes, rwlocks and files count and time; in the other they are off. In both, performance_schema knows of",
        "each lock.",
        "",
        *rates(measured, None),
        "",
        "There is no goal: `waits` is off unless an experiment asks for it, and a run with it is compared with others",
        "that have it.",
    ]
    return "\n".join(lines)


def _measured_on(server: str, facts: dict[str, Any], options: str = "") -> list[str]:
    return [
        f"Measured with `python -m benchmarks.{NAME}{options}`: one {server}, {facts['usable_cpus']} cores"
        f" ({facts['cpu_model']}), {CLIENTS} clients."
    ]


def rates(measured: dict[str, list[tuple[float, float]]], goal: float | None) -> list[str]:
    """A Markdown table: the loss in each kind of step, and whether it is below the goal."""
    reached = " goal | reached |" if goal else ""
    lines = [
        f"| step | pairs | without, /s | with, /s | median loss | 95 % interval | quartiles of the pairs |{reached}",
        "|---" * (9 if goal else 7) + "|",
    ]
    for name, pairs in measured.items():
        losses = [1 - on / off for on, off in pairs]
        low, high = interval(losses)
        quartiles = statistics.quantiles(losses, n=4)
        median = statistics.median(losses)
        on, off = (statistics.median(values) for values in zip(*pairs, strict=True))
        row = (
            f"| {name} | {len(pairs)} | {off:,.0f} | {on:,.0f} | {median:.1%} | {low:.1%} to {high:.1%} | "
            f"{quartiles[0]:.1%} to {quartiles[2]:.1%} |"
        )
        is_reached = "yes" if high < (goal or 0) else "no" if low > (goal or 0) else "cannot tell"
        lines.append(row + (f" < {goal:.0%} | {is_reached} |" if goal else ""))
    return lines


def interval(values: list[float], resamples: int = 2000) -> tuple[float, float]:
    """Bootstrap interval (95 %) of the median."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(resamples))
    return medians[int(0.025 * resamples)], medians[int(0.975 * resamples) - 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short steps, print only")
    parser.add_argument("--waits", action="store_true", help="what capture of waits costs")
    parser.add_argument("--build", default="system")
    chosen = parser.parse_args()
    write_rows, query_s = (700_000, 24.0) if chosen.quick else (4_000_000, 160.0)
    steps, options = plan(write_rows, query_s)
    build = find_build(chosen.build, workspace())
    if not isinstance(build, Build):
        parser.error(f"build {chosen.build} runs on another host: choose one of this machine")
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        (scratch / "my.cnf").write_text(MY_CNF + (WITH_WAITS if chosen.waits else ""))
        box = Sandbox(build, scratch / "box", scratch / "my.cnf", scratch / "log")
        with box as where:
            bench = Bench(box, where.arguments(), scratch, steps, options, chosen.waits)
            for number in range(3):
                bench.step(number)
            measured = {"l.i1, rows": bench.pairs(3), "qr100, queries": bench.pairs(4)}
        server, facts = f"{build.flavour} {build.version}", host_facts(scratch)
        if chosen.waits:
            text = waits_report(measured, build.label, server, facts)
        else:
            text = report(measured, bench.reports, server, facts)
    print(text)
    if not chosen.quick:
        write_section(f"waits_cost_{build.label}" if chosen.waits else NAME, text, by=NAME)


if __name__ == "__main__":
    main()
