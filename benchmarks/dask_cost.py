"""What a Dask worker costs while a cell measures: throughput while it lives as ever, and while it is held still.

    python -m benchmarks.dask_cost            measure and write its section of docs/benchmarks/dask_cost.md
    python -m benchmarks.dask_cost --quick    short steps, print only

The method is that of `benchmarks.capture_cost`: in some blocks of a step the process of the worker runs, in their
neighbours it is stopped (SIGSTOP). It has a task under way all the time, as it has while a cell measures; its scheduler
runs all the time, and would be on another machine.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from distributed import Client

from benchmarks.capture_cost import BLOCK_S, CANNOT_TELL, CLIENTS, GOAL, MY_CNF, Bench, Gate, plan, rates
from benchmarks.performance_page import write_section
from ibench_lib.base.tether import tethered
from ibench_lib.capture.host_facts import host_facts
from ibench_lib.paths import workspace
from ibench_lib.servers.find import find_system
from ibench_lib.servers.sandbox import Sandbox

NAME = "dask_cost"
QUIET = ["-c", "from ibench_lib.cli.main import main; main()", "worker"]
PLAIN = ["-m", "distributed.cli.dask_worker", "--resources", "ibench=1", "--nthreads", "1", "--no-nanny"]


@contextmanager
def waiting_worker(folder: Path, command: list[str]) -> Iterator[psutil.Process]:
    """A worker, and a scheduler, with a task that waits, as one does for the process of a cell."""
    file = folder / f"{len(list(folder.iterdir()))}.json"
    options = ["--no-dashboard", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)]
    processes = [_start(["-m", "distributed.cli.dask_scheduler", *options])]
    try:
        while not (file.is_file() and file.read_text().endswith("}")):
            time.sleep(0.1)
        with Client(scheduler_file=str(file), set_as_default=False) as client:  # type: ignore[no-untyped-call]
            processes.append(_start([*command, client.scheduler.address]))
            client.wait_for_workers(1)
            _task = client.submit(time.sleep, 100_000, resources={"ibench": 1})
            time.sleep(2)
            yield psutil.Process(processes[-1].pid)
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def cpu_share(process: psutil.Process, seconds: float) -> float:
    """Of a core."""
    before = sum(process.cpu_times()[:2])
    time.sleep(seconds)
    return float(sum(process.cpu_times()[:2]) - before) / seconds


def pairs(bench: Bench, number: int, worker: psutil.Process) -> list[tuple[float, float]]:
    """(rate with, rate without) in neighbouring blocks of a step, without its first and its last."""
    gate, over = Gate(), threading.Event()

    def hold_still() -> None:
        stopped = False
        while not over.wait(0.01):
            stop = gate.start_ns is not None and not gate.is_open()
            if stop != stopped:
                os.kill(worker.pid, signal.SIGSTOP if stop else signal.SIGCONT)
                stopped = stop

    thread = threading.Thread(target=hold_still)
    thread.start()
    try:
        seconds = bench.step(number, gate)
    finally:
        over.set()
        thread.join()
        os.kill(worker.pid, signal.SIGCONT)
    blocks = [sum(seconds[at : at + BLOCK_S]) / BLOCK_S for at in range(0, len(seconds) - BLOCK_S, BLOCK_S)]
    found = []
    for first in range(2, len(blocks) - 2, 2):
        on, off = (first, first + 1) if gate.block_is_on(first) else (first + 1, first)
        found.append((blocks[on], blocks[off]))
    return found


def report(
    measured: dict[str, list[tuple[float, float]]], shares: dict[str, float], server: str, facts: dict[str, Any]
) -> str:
    lines = [
        "# What a Dask worker costs while a cell measures",
        "",
        f"Measured with `python -m benchmarks.{NAME}`: one {server}, {facts['usable_cpus']} cores "
        f"({facts['cpu_model']}), "
        f"{CLIENTS} clients.",
        f"Each step is divided into blocks of {BLOCK_S} s. The worker process runs in one block of each "
        f"pair of neighbours "
        "and is stopped",
        "in the other; its thread waits, as it does while a cell runs. The loss of a pair is 1 - with / without.",
        "",
        *rates(measured, GOAL),
    ]
    lines += ["", "| worker | CPU of a core while its task waits |", "|---|---|"]
    lines += [f"| `{name}` | {share:.2%} |" for name, share in shares.items()]
    lines += [
        "",
        f"{CANNOT_TELL} The CPU time of the worker is measured all the same.",
    ]
    return "\n".join(lines)


def _start(arguments: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        tethered([sys.executable, *arguments]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="short steps, print only")
    quick = arguments.parse_args().quick
    write_rows, query_s, idle_s = (700_000, 24.0, 10.0) if quick else (2_000_000, 80.0, 30.0)
    steps, options = plan(write_rows, query_s)
    build = find_system(workspace())
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        (scratch / "my.cnf").write_text(MY_CNF)
        (scratch / "dask").mkdir()
        with waiting_worker(scratch / "dask", PLAIN) as worker:
            shares = {"dask worker": cpu_share(worker, idle_s)}
        box = Sandbox(build, scratch / "box", scratch / "my.cnf", scratch / "log")
        with waiting_worker(scratch / "dask", QUIET) as worker:
            shares["ibench worker"] = cpu_share(worker, idle_s)
            with box as where:
                bench = Bench(box, where.arguments(), scratch, steps, options)
                for number in range(3):
                    bench.step(number)
                measured = {"l.i1, rows": pairs(bench, 3, worker), "qr100, queries": pairs(bench, 4, worker)}
        text = report(measured, shares, f"{build.flavour} {build.version}", host_facts(scratch))
    print(text)
    if not quick:
        write_section(NAME, text)


if __name__ == "__main__":
    main()
