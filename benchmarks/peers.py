"""What the benchmarks next to other clients share: CPU and memory of client processes, our steps, figures of rounds."""

from __future__ import annotations

import os
import platform
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import psutil

from ibench_lib.capture.host_facts import host_facts
from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.mysql.wire import COM_QUERY, packets
from ibench_lib.runner.step import StepResult, run_step
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.workloads.workload import Workload


class Watch:
    """CPU and memory of processes and their children, looked at ten times a second until it is left."""

    def __init__(self) -> None:
        self.pids: set[int] = set()
        self.most = 0
        self._cpu: dict[tuple[int, float], float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look_until_over)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def cpu_s(self) -> float:
        """CPU seconds at the last look."""
        return sum(self._cpu.values())

    def ended(self, pid: int, cpu_s: float) -> None:
        """Take what the kernel says of a process that has ended, with its children."""
        self._cpu = {(pid, 0.0): cpu_s}

    def look(self) -> None:
        memory = 0
        for pid in list(self.pids):
            try:
                process = psutil.Process(pid)
                for one in (process, *process.children(recursive=True)):
                    times = one.cpu_times()
                    self._cpu[one.pid, one.create_time()] = times.user + times.system
                    memory += one.memory_full_info().pss
            except psutil.Error:
                continue
        self.most = max(self.most, memory)

    def _look_until_over(self) -> None:
        while not self._over.wait(0.1):
            self.look()


def our_step(
    workload: Workload, options: Any, step: Any, number: int, address: dict[str, Any], database: str,
    on_start: Callable[[Watch], None] = lambda _watch: None,
) -> tuple[StepResult, Watch]:  # fmt: skip
    """One of our steps; its inputs follow from `number`. `on_start` is called just before the load, with its processes.

    Raises what made it fail.
    """
    workers = [(worker, workload.spec(options, step, worker, number)) for worker in workload.workers(options, step)]
    with Watch() as watch:

        def started(states: list[WorkerState], _: int) -> None:
            watch.pids.update(state.process.pid for state in states)
            on_start(watch)

        result = run_step(
            workers=workers,
            operations={operation.name: operation for operation in workload.operations},
            driver="ibench_lib.client.mysql.connection",
            address=address,
            database=database,
            server_alive=lambda: True,
            on_start=started,
            on_second=lambda _state, _row: None,
            on_progress=lambda _states, _start: None,
        )
    if result.failure is not None:
        raise result.failure
    return result, watch


def bare_round_trip_us(address: dict[str, Any], connections: int = 2, seconds: float = 3.0) -> float:
    """CPU of sending SELECT 1 and receiving its answer, which nobody reads. A process for each connection.

    No client can need less for a statement: the rest of its CPU is its own work.
    """
    with ProcessPoolExecutor(connections) as pool:
        return statistics.mean(pool.map(_bare_round_trip_us, [address] * connections, [seconds] * connections))


def _bare_round_trip_us(address: dict[str, Any], seconds: float) -> float:
    connection = Connection(address, None, 30.0)
    with socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as bare:
        command, sent = packets(COM_QUERY + b"SELECT 1"), 0
        end, used = time.monotonic() + seconds, time.process_time()
        while time.monotonic() < end:
            bare.sendall(command)
            bare.recv(1 << 14)
            sent += 1
        used = time.process_time() - used
    connection.close()
    return 1e6 * used / sent


def duration_s(result: StepResult) -> float:
    """From the common start to the last end."""
    assert result.start_ns is not None
    ends = [int(state.totals["end_ns"]) for state in result.workers if state.totals]
    return (max(ends) - result.start_ns) / 1e9


def create(workload: Workload, options: Any, setup: Any, address: dict[str, Any], database: str) -> None:
    """A database of our own with empty tables."""
    connection = Connection(address, None, 60)
    connection.query(f"DROP DATABASE IF EXISTS {database}")
    connection.query(f"CREATE DATABASE {database}")
    connection.query(f"USE {database}")
    for statement in workload.prepare(options, setup, "mysql"):
        connection.query(statement)
    connection.close()


def span(values: Sequence[float], form: str) -> str:
    """Median (min to max)."""
    low, middle, high = (format(value, form) for value in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low} to {high})"


def host() -> str:
    """The processors, in words."""
    facts = host_facts(Path(tempfile.gettempdir()))
    return f"{facts.get('cpu_model') or 'unknown CPU'}, {os.cpu_count()} CPUs"


def interpreter() -> str:
    """The Python of our clients, in words."""
    return f"Python {platform.python_version()} of {' '.join(platform.python_build())}"
