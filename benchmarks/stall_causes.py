"""Whether dips are put down to their causes: each cause is forced on a real server, and the labels are counted.

    python -m benchmarks.stall_causes --each 20         every cause, on the system's server; writes docs/performance.md
    python -m benchmarks.stall_causes --each 2 --print  a look at it

A run of the Insert Benchmark writes as fast as it can, and every ten seconds something happens for three: the server
or its clients are stopped, others take the CPUs, a lock is held. `ibench stalls` does not know of that. A dip that
overlaps what was done is right if it has that cause. Injections with an even number are for fitting the thresholds of
the rules, those with an odd number for judging them. Steps in which nothing is done show how often a healthy step is
blamed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.performance_page import write_section
from ibench_lib.capture import session
from ibench_lib.capture.collector import Collector
from ibench_lib.capture.connection import connect, rows
from ibench_lib.configs import resolve
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.lake import reader
from ibench_lib.paths import Workspace, workspace
from ibench_lib.run.cell import run_cell
from ibench_lib.run.observer import Observer
from ibench_lib.run.plan import plan_cell
from ibench_lib.run.step import WorkerState
from ibench_lib.servers.find import find_build
from ibench_lib.workloads.workload import Step

NAME = "stall_causes"
EVERY_S, LASTS_S, FIRST_S = 10.0, 3.0, 8.0
CLIENTS = 2
STEP = "l.i1"

EXPERIMENT = """
title: forced stalls
builds: [{build}]
configs: [{{name: forced, fragments: [forced]}}]
setups: [{{name: forced, l_i0_rows: 200000, l_i1_rows: {rows}, l_i2_rows: 1000, query_seconds: 1}}]
scale: 1
workload: {{benchmark: insert_benchmark, clients: {clients}, steps: [l.i0, l.x, l.i1], count_rows: false}}
"""

MY_CNF = "[mysqld]\nskip_log_bin\ninnodb_buffer_pool_size={pool}\ninnodb_flush_log_at_trx_commit=2\n"


@dataclass
class Scene:
    """What an injection may act on, as far as it is known."""

    address: dict[str, Any] = field(default_factory=dict)
    server_pid: int = 0
    client_pids: list[int] = field(default_factory=list)
    tables: tuple[str, ...] = ()


Injection = Callable[[Scene], contextlib.AbstractContextManager[None]]


@contextlib.contextmanager
def server_stopped(scene: Scene) -> Iterator[None]:
    os.kill(scene.server_pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(scene.server_pid, signal.SIGCONT)


@contextlib.contextmanager
def client_pause(scene: Scene) -> Iterator[None]:
    for pid in scene.client_pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in scene.client_pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def machine_paused(scene: Scene) -> Iterator[None]:
    """Server, clients and this process, so that no collector samples either. A shell continues them."""
    pids = [scene.server_pid, *scene.client_pids, os.getpid()]
    names = " ".join(map(str, pids))
    subprocess.Popen(["/bin/sh", "-c", f"kill -STOP {names}; sleep {LASTS_S}; kill -CONT {names}"])
    yield


@contextlib.contextmanager
def cpu_starved(_scene: Scene) -> Iterator[None]:
    """Each in a session of its own: the scheduler shares the CPUs among sessions first."""
    burn = [sys.executable, "-c", "while True: pass"]
    hogs = [subprocess.Popen(burn, start_new_session=True) for _ in range(6 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


@contextlib.contextmanager
def lock(scene: Scene) -> Iterator[None]:
    connection = connect(scene.address)
    try:
        rows(connection, "FLUSH TABLES WITH READ LOCK")
        yield
        rows(connection, "UNLOCK TABLES")
    finally:
        connection.close()


@contextlib.contextmanager
def row_locks(scene: Scene) -> Iterator[None]:
    """The oldest rows of each table, which its deleter is about to delete."""
    connection = connect(scene.address)
    try:
        rows(connection, "SET autocommit = 0")
        for table in scene.tables:
            rows(connection, f"SELECT transactionid FROM ibench.{table} ORDER BY transactionid LIMIT 20000 FOR UPDATE")
        yield
        rows(connection, "ROLLBACK")
    finally:
        connection.close()


@contextlib.contextmanager
def with_variables(scene: Scene, **values: int) -> Iterator[None]:
    connection = connect(scene.address)
    try:
        before = {name: rows(connection, f"SELECT @@global.{name}")[0][0] for name in values}
        for name, value in values.items():
            rows(connection, f"SET GLOBAL {name} = {value}")
        yield
        for name, value in before.items():
            rows(connection, f"SET GLOBAL {name} = {value}")
    finally:
        connection.close()


@contextlib.contextmanager
def checkpoint(scene: Scene) -> Iterator[None]:
    """The redo log as small as it can be. MariaDB makes it smaller, too, but answers only when that is done."""
    with with_variables(scene, innodb_redo_log_capacity=8 << 20):
        yield


@contextlib.contextmanager
def purge(scene: Scene) -> Iterator[None]:
    """An old read view lets history grow while the server delays statements because of it."""
    viewer = connect(scene.address)
    rows(viewer, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
    with contextlib.closing(viewer), with_variables(scene, innodb_max_purge_lag_delay=100_000, innodb_max_purge_lag=1):
        yield


CAUSES: dict[str, Injection] = {
    "server_stopped": server_stopped,
    "client_pause": client_pause,
    "machine_paused": machine_paused,
    "cpu_starved": cpu_starved,
    "lock": lock,
    "row_locks": row_locks,
    "checkpoint": checkpoint,
    "purge": purge,
}


class Injector(Observer):
    """Does something again and again while the step runs; `done` are (from, to) in seconds of the step."""

    def __init__(self, scene: Scene, inject: Injection | None, each: int) -> None:
        self.scene, self.inject, self.left = scene, inject, each
        self.done: list[tuple[float, float]] = []
        self._thread: threading.Thread | None = None
        self._step_s = 0.0
        self._failed: list[BaseException] = []

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None:
        if self._failed:
            raise self._failed[0]
        if step.name != STEP or self.inject is None or not self.left:
            return
        busy = self._thread is not None and self._thread.is_alive()
        if busy or elapsed_s < FIRST_S + len(self.done) * EVERY_S:
            return
        self.scene.client_pids = [state.process.pid for state in workers if state.process.pid]
        self.left -= 1
        self._thread = threading.Thread(target=self._act, args=(elapsed_s, time.monotonic()), daemon=True)
        self._thread.start()

    def _act(self, elapsed_s: float, now_s: float) -> None:
        assert self.inject is not None
        try:
            with self.inject(self.scene):
                begun_s = time.monotonic()
                time.sleep(LASTS_S)
            self.done.append((elapsed_s + begun_s - now_s, elapsed_s + time.monotonic() - now_s))
        except BaseException as error:  # raised again where the runner sees it
            self._failed.append(error)


def watching(scene: Scene) -> type[Collector]:
    """A collector that only looks where the server is."""

    class Where(Collector):
        name = "where"
        tables = ()

        def sample(self, tick: int, now_s: Callable[[], float]) -> None:
            scene.address = dict(self.scene.address)
            scene.server_pid = self.scene.server_pid() or 0
            scene.tables = self.scene.tables

    return Where


def run(
    place: Workspace, build_label: str, inject: Injection | None, each: int, pool: str
) -> tuple[str, list[tuple[float, float]]]:
    """One run with so many injections. Returns its id and when something was done."""
    seconds = FIRST_S + each * EVERY_S if inject else FIRST_S + 2 * EVERY_S
    fragments = place.root / "configs"
    fragments.mkdir(exist_ok=True)
    (fragments / "forced.cnf").write_text(MY_CNF.format(pool=pool))
    path = place.root / "forced.yaml"
    path.write_text(EXPERIMENT.format(build=build_label, rows=int(seconds * 15_000 / CLIENTS), clients=CLIENTS))
    resolve.FRAGMENTS = fragments
    loaded = load_experiment(path)
    scene = Scene()
    injector = Injector(scene, inject, each)
    known = session.collectors()
    session.collectors = lambda: {**known, "where": watching(scene)}  # type: ignore[assignment]
    try:
        build = find_build(build_label, workspace())
        manifest = run_cell(loaded, plan_cell(loaded, loaded.cells()[0], build), place, injector)
    finally:
        session.collectors = lambda: known  # type: ignore[assignment]
    return manifest.run_id, injector.done


def labels(place: Workspace, run_id: str, done: list[tuple[float, float]], cause: str) -> list[tuple[str, str]]:
    """For each injection the label and confidence of the dip that overlaps it most; ('no dip', '') without one.

    Where it is not `cause`, the evidence for that is printed.
    """
    lake = reader.lake(place)
    dips = reader.question(lake, "dips", runs=[run_id], steps=[STEP]).to_dicts()
    evidence = reader.question(lake, "dip_evidence", runs=[run_id], steps=[STEP])
    found = []
    for begin, end in done:
        near = [dip for dip in dips if dip["from_s"] < end + 1.5 and dip["to_s"] > begin - 0.5]
        near.sort(key=lambda dip: min(dip["to_s"], end) - max(dip["from_s"], begin))
        best = near[-1] if near else None
        found.append((best["cause"] or "unexplained", best["confidence"] or "") if best else ("no dip", ""))
        if best:
            print(f"    {begin:.1f} to {end:.1f}: {found[-1]} {best['candidates'][:3]}", flush=True)
        if best and best["cause"] != cause:
            for rule in evidence.filter(cause=cause, dip=best["dip"]).to_dicts():
                print("       ", {key: rule[key] for key in ("points", "measure", "value", "out_mean", "holds")})
    return found


def matrix(found: dict[str, list[tuple[str, str]]]) -> list[str]:
    """A Markdown table: what was done by what was said; only the half that judges."""
    said = sorted({label for answers in found.values() for label, _ in answers})
    lines = [f"| forced | {' | '.join(said)} | right | highly sure |", "|---" * (len(said) + 3) + "|"]
    for cause, answers in found.items():
        judged = answers[1::2] or answers
        counts = Counter(label for label, _ in judged)
        right = counts[cause] / len(judged) if judged else 0
        high = sum(label == cause and sure == "high" for label, sure in judged)
        cells = " | ".join(str(counts[label] or "") for label in said)
        lines.append(f"| {cause} | {cells} | {100 * right:.0f} % of {len(judged)} | {high} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="system")
    parser.add_argument("--each", type=int, default=20, help="injections of each cause")
    parser.add_argument("--healthy", type=int, default=5, help="steps in which nothing is done")
    parser.add_argument("--causes", default=",".join(CAUSES), help="checkpoint needs MySQL 8.0.30 or later")
    parser.add_argument("--pool", default="1G")
    parser.add_argument("--print", action="store_true", help="print only")
    chosen = parser.parse_args()
    found: dict[str, list[tuple[str, str]]] = {}
    with tempfile.TemporaryDirectory(prefix="stall-causes-") as folder:
        place = Workspace(Path(folder))
        for cause in chosen.causes.split(","):
            run_id, done = run(place, chosen.build, CAUSES[cause], chosen.each, chosen.pool)
            found[cause] = labels(place, run_id, done, cause)
            print(cause, Counter(found[cause]).most_common(), flush=True)
        blamed = healthy = 0
        for _ in range(chosen.healthy):
            run_id, _ = run(place, chosen.build, None, 0, chosen.pool)
            dips = reader.question(reader.lake(place), "dips", runs=[run_id], steps=[STEP])
            healthy += 1
            blamed += bool((dips["confidence"] == "high").any())
    text = "\n".join([
        "## Causes of dips",
        "",
        f"Each cause was forced {chosen.each} times for {LASTS_S:g} s in a step that writes as fast as it can, on",
        f"{chosen.build}; the table has the half that was not used to choose thresholds.",
        "",
        *matrix(found),
        "",
        f"Of {healthy} steps in which nothing was done, {blamed} had a dip with a cause of high confidence.",
    ])  # fmt: skip
    print(text)
    if not chosen.print:
        write_section(NAME, text)


if __name__ == "__main__":
    main()
