"""What it costs that ibench reads each second of sysbench: the wrapper next to plain sysbench, and their ratios.

    python -m benchmarks.sysbench_cost           writes the page
    python -m benchmarks.sysbench_cost --quick   one short round, print only

sysbench runs the same test with the same options and seed, once by our wrapper as a step of a run does it, and once by
itself, with a line each second.

The null test is a script whose events only sleep, so nearly all CPU is that of counting and printing. What the wrapper
adds is seen there, on a busy host too, with the CPU of the client that reads its lines.

What it costs an event of a real test is CPU time, and where CPUs are the limit, the rate falls by its share of all the
CPU time that an event takes. Rates of runs one after the other cannot show a percent of that: on a virtual machine they
differ by ten. So pairs run at the same time, the server with them, all on one CPU: then both sides have the same host
and the same server, and the CPU time of an event differs by little. Pairs of plain sysbench show by how much.

The busy test is a script whose events only compute. Rates of it and of real tests, one after the other on all CPUs,
follow. Last comes what posts show: the ratio of two tests. Pairs alternate which side is first.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers import host, span
from benchmarks.performance_page import write_section
from ibench_lib.base.tether import tethered
from ibench_lib.base.wording import count
from ibench_lib.client.external import RunningProgram, target
from ibench_lib.client.mysql.connection import Connection
from ibench_lib.paths import workspace
from ibench_lib.servers.build import Build
from ibench_lib.servers.find import find_system
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.stats.student import t_quantile
from ibench_lib.workloads.sysbench import steps
from ibench_lib.workloads.sysbench.client import EVENTS, Sysbench
from ibench_lib.workloads.sysbench.options import Options, Setup
from ibench_lib.workloads.sysbench.program import identity

MY_CNF = "[mysqld]\ninnodb_buffer_pool_size=256M\nskip_log_bin\ninnodb_flush_log_at_trx_commit=0\n"
DRIVER, DATABASE = "ibench_lib.client.mysql.connection", "b"
NULL = "null_test"
NULL_LUA = 'ffi = require("ffi")\nffi.cdef("int usleep(unsigned)")\nfunction event() ffi.C.usleep(5000) end\n'
BUSY = "busy_test"
BUSY_LUA = "function event() local sum = 0 for i = 1, 20000 do sum = sum + i % 7 end total = sum end\n"
"""An event that returns anything ends its thread."""
SCRIPTS = {NULL: NULL_LUA, BUSY: BUSY_LUA}
TESTS = ("oltp_point_select", "oltp_read_write")
TABLES, ROWS, THREADS = 2, 10_000, 2


@dataclass(frozen=True)
class Figures:
    """One run: events, seconds, CPU of sysbench, and CPU of what reads its lines (0 for plain sysbench)."""

    events: int
    seconds: float
    cpu_s: float
    reader_s: float = 0.0

    @property
    def rate(self) -> float:
        """Events per second."""
        return self.events / self.seconds

    @property
    def cpu_of_event_us(self) -> float:
        """CPU time of sysbench and the reader for an event."""
        return 1e6 * (self.cpu_s + self.reader_s) / self.events

    @property
    def core(self) -> float:
        """The share of a core that it all uses."""
        return (self.cpu_s + self.reader_s) / self.seconds


class Bench:
    """A server with tables, with how many threads, and for how long, is measured."""

    def __init__(self, address: dict[str, Any], seconds: float, scripts: Path, threads: int) -> None:
        self.where = target(DRIVER, address, DATABASE)
        self.seconds, self.scripts, self.threads = seconds, scripts, threads

    def program(self, test: str, number: int) -> tuple[Sysbench, str]:
        """The preparation (0) or the test (1) as a step of a run has it, and its first operation."""
        given = {"benchmark": "sysbench", "tests": [test], "threads": [self.threads], "rand_type": "uniform"}
        path = self.scripts / f"{test}.lua"
        if test in SCRIPTS:
            given["lua"] = [str(path)]
        options = Options.model_validate(given).with_files({path.name: path})
        setup = Setup(name="s", tables=TABLES, table_size=ROWS, seconds=self.seconds, warm_up=0.0)
        step = steps.plan(options, setup, 1.0)[number]
        spec = steps.spec(options, step, steps.workers(options, step)[0], number)
        return Sysbench(spec, self.where), spec.operations[0]

    def wrapped(self, test: str, number: int = 1) -> Figures:
        """sysbench by the wrapper, its lines read and made into seconds."""
        program, operation = self.program(test, number)
        rows: list[dict[str, Any]] = []
        driven = RunningProgram(program, operation, rows.append)
        if program.ready:
            driven.connect()
        before = _own_cpu_s()
        if driven.error is None:
            driven.run(time.monotonic_ns(), self.seconds if program.ready else None)
        reader_s = _own_cpu_s() - before
        driven.close()
        if driven.error:
            raise SystemExit(f"sysbench by the wrapper: {driven.error}")
        events = sum(row["ops"] for row in rows if row["operation"] == "transaction")
        return Figures(events, driven.seconds.end_s, sum(driven.cpu), reader_s)

    def plain(self, test: str) -> Figures:
        """sysbench by itself, with the options of the wrapper."""
        program, _ = self.program(test, 1)
        script = program.environment["SYSBENCH_TEST_FILE"] or ""
        argv = [script if word == str(EVENTS) else word for word in program.argv]
        with tempfile.TemporaryFile("w+") as out:
            # In a session of its own, as by the wrapper and in a shell: Linux shares CPUs out by session.
            process = subprocess.Popen(tethered(argv), stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            said = out.read()
        events = re.search(r"total number of events: +(\d+)", said)
        seconds = re.search(r"total time: +([\d.]+)s", said)
        if process.returncode or events is None or seconds is None:
            raise SystemExit(f"plain sysbench ended with {process.returncode}: {said[-500:]}")
        return Figures(int(events[1]), float(seconds[1]), used.ru_utime + used.ru_stime)


Pair = tuple[Figures, Figures]
Pairs = list[Pair]
Side = Callable[[str], Figures]


@contextmanager
def opened(build: Build, threads: int, seconds: float) -> Iterator[Bench]:
    """A server with its tables."""
    with tempfile.TemporaryDirectory(prefix="sysbench") as name:
        scratch = Path(name)
        (scratch / "my.cnf").write_text(MY_CNF)
        for test, text in SCRIPTS.items():
            (scratch / f"{test}.lua").write_text(text)
        with Sandbox(build, scratch / "box", scratch / "my.cnf", scratch / "log") as address:
            connection = Connection(address.arguments(), None, 60.0)
            connection.query(f"CREATE DATABASE {DATABASE}")
            bench = Bench(address.arguments(), seconds, scratch, threads)
            bench.wrapped(TESTS[0], 0)
            yield bench


@contextmanager
def one_cpu() -> Iterator[None]:
    """This process, and what it starts, may use one CPU."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def one_after_the_other(bench: Bench, rounds: int) -> dict[str, Pairs]:
    """Pairs of runs, by the wrapper and plain, of each test."""
    found: dict[str, Pairs] = {test: [] for test in (*SCRIPTS, *TESTS)}
    for number in range(rounds):
        for test, pairs in found.items():
            pairs.append(in_turn(number, test, (bench.wrapped, bench.plain), map))
        print(f"round {number + 1} of {rounds} done", flush=True)
    return found


def at_the_same_time(bench: Bench, rounds: int) -> dict[str, tuple[Pairs, Pairs]]:
    """Of each real test, pairs by the wrapper and plain, and pairs that are both plain."""
    found: dict[str, tuple[Pairs, Pairs]] = {test: ([], []) for test in TESTS}
    with ThreadPoolExecutor(2) as pool:
        for number in range(rounds):
            for test, of_test in found.items():
                for pairs, first in zip(of_test, (bench.wrapped, bench.plain), strict=True):
                    pairs.append(in_turn(number, test, (first, bench.plain), pool.map))
            print(f"round {number + 1} of {rounds} at the same time done", flush=True)
    return found


def in_turn(number: int, test: str, sides: tuple[Side, Side], each: Callable[..., Iterable[Figures]]) -> Pair:
    """A test by both sides, every other time in the other order; `each` applies a function to each of them."""
    turn = 1 if number % 2 == 0 else -1
    one, two = tuple(each(lambda side: side(test), sides[::turn]))[::turn]
    return one, two


def report(found: dict[str, Pairs], together: dict[str, tuple[Pairs, Pairs]], server: str, seconds: float) -> str:
    """The section of the page."""
    null = found[NULL]
    added = [100 * (ours.core - plain.core) for ours, plain in null]
    lines = [
        "# The wrapper of sysbench", "",
        f"{server}, {identity()['version']}, {seconds:g} s each.",
        f"CPU time of events: {count(len(together[TESTS[0]][0]), 'pair')} at the same time, a thread each, on one CPU.",
        f"The rest: {count(len(null), 'pair')}, one after the other on all CPUs, {count(THREADS, 'thread')}.",
        "Figures are medians (lowest to highest). Differences and ratios are taken within a pair: their mean, with its",
        "95 % interval.",
        f"Host: {host()}.", "",
        "| what | by the wrapper | plain | difference or ratio | aim |", "|---|---|---|---|---|",
        f"| null test: CPU, with that of the reader (% of a core) | {_of(null, 0, 'core', 100)} |"
        f" {_of(null, 1, 'core', 100)} | {span(added, '+.2f')} | <= 0.5 |",
    ]  # fmt: skip
    for test, (pairs, control) in together.items():
        both = ((f"{test}: CPU of an event (us)", pairs, "<= 1"), ("the same, plain and plain", control, "0"))
        lines += [
            f"| {what} | {_of(of, 0, 'cpu_of_event_us')} | {_of(of, 1, 'cpu_of_event_us')} | {_added(of)} | {aim} |"
            for what, of, aim in both
        ]
    for test in (BUSY, *TESTS):
        ratios = [ours.rate / plain.rate for ours, plain in found[test]]
        lines.append(
            f"| {test}: events/s | {span([ours.rate for ours, _ in found[test]], ',.0f')} |"
            f" {span([plain.rate for _, plain in found[test]], ',.0f')} | {_mean(ratios)} | 1 |"
        )
    by_wrapper, plain_ones = (
        [few[side].rate / many[side].rate for many, few in zip(*(found[test] for test in TESTS), strict=False)]
        for side in (0, 1)
    )
    ratios = [ours / plain for ours, plain in zip(by_wrapper, plain_ones, strict=True)]
    lines.append(
        f"| {TESTS[1]} over {TESTS[0]} | {span(by_wrapper, '.3f')} | {span(plain_ones, '.3f')} | {_mean(ratios)} | 1 |"
    )
    return "\n".join(lines)


def _of(pairs: Pairs, side: int, name: str, times: float = 1) -> str:
    values: Sequence[float] = [times * getattr(pair[side], name) for pair in pairs]
    return span(values, ".2f")


def _mean(ratios: Sequence[float]) -> str:
    """The geometric mean with its interval; without one of a single pair."""
    mean, *ends = (f"{math.exp(value):.3f}" for value in _interval([math.log(ratio) for ratio in ratios]))
    return f"{mean} [{', '.join(ends)}]" if ends else mean


def _added(pairs: Pairs) -> str:
    """What the first side adds to an event, in % of the time that the one CPU of both has for one."""
    shares = [
        100 * (one.cpu_of_event_us - other.cpu_of_event_us) * (one.rate + other.rate) / 1e6 for one, other in pairs
    ]
    mean, *ends = (f"{value:+.2f}" for value in _interval(shares))
    return f"{mean} [{', '.join(ends)}] %" if ends else f"{mean} %"


def _interval(values: Sequence[float]) -> list[float]:
    """The mean and the ends of its 95 % interval; of one value, that alone."""
    mean = statistics.mean(values)
    if len(values) == 1:
        return [mean]
    half = t_quantile(0.025, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return [mean, mean - half, mean + half]


def _own_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=10, help="half as many one after the other")
    parser.add_argument("--quick", action="store_true", help="3 s, one round; print only")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.seconds, chosen.rounds = 3.0, 1
    build = find_system(workspace())
    with one_cpu(), opened(build, 1, chosen.seconds) as bench:
        together = at_the_same_time(bench, chosen.rounds)
    with opened(build, THREADS, chosen.seconds) as bench:
        found = one_after_the_other(bench, (chosen.rounds + 1) // 2)
    text = report(found, together, f"{build.flavour} {build.version}", chosen.seconds)
    print(text)
    if not chosen.quick:
        write_section("sysbench_cost", text)


if __name__ == "__main__":
    main()
