"""Small cells for tests, run on a server."""

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

from ibench_lib.experiment.cells import LoadedExperiment, load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.cell import run_cell
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.plan import plan_cell
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.servers.build import Build
from ibench_lib.store.manifest import Manifest, read_manifest
from ibench_lib.workloads.workload import Step

EXPERIMENT = """
title: a tiny run
builds: [system]
configs: [{name: tiny, fragments: [cy10a, p1]}]
setups: [{name: tiny, l_i0_rows: 20000, l_i1_rows: %(l_i1_rows)d, l_i2_rows: 1000, query_seconds: %(seconds)d}]
scale: 1
workload: {benchmark: insert_benchmark, clients: 2, steps: [%(steps)s]}
"""


class Watcher(Observer):
    """An observer that can do something in mid-step."""

    def __init__(self, step: str | None = None, after_s: float = 0.0, act: Any = None) -> None:
        self.step, self.after_s, self.act = step, after_s, act
        self.ended: list[str] = []
        self.last_progress = 0.0

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None:
        self.last_progress = time.monotonic()
        if step.name == self.step and elapsed_s >= self.after_s and self.act is not None:
            act, self.act = self.act, None
            act(workers)

    def step_ends(self, step: Step, duration_s: float) -> None:
        self.ended.append(step.name)


def experiment(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    steps: str = "l.i0, l.x, l.i1, qr100",
    l_i1_rows: int = 20_000,
    seconds: int = 3,
    more: str = "",
) -> LoadedExperiment:
    configs = tmp_path / "configs"
    configs.mkdir()
    (configs / "cy10a.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=64M\nskip_log_bin\n")
    (configs / "p1.cnf").write_text("[mysqld]\ninnodb_purge_batch_size=1\ninnodb_purge_threads=1\n")
    monkeypatch.setattr("ibench_lib.paths.FRAGMENTS", configs)
    path = tmp_path / "tiny.yaml"
    path.write_text(EXPERIMENT % {"steps": steps, "l_i1_rows": l_i1_rows, "seconds": seconds} + f"{more}\n")
    return load_experiment(path)


def rows(run_dir: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(run_dir / f"{table}.parquet").to_pylist()
    return found


def run(loaded: LoadedExperiment, build: Build, workspace: Workspace, watcher: Watcher) -> Manifest:
    return run_cell(loaded, plan_cell(loaded, loaded.cells()[0], build), workspace, watcher)


def the_run(workspace: Workspace) -> tuple[Path, Manifest]:
    (run_dir,) = workspace.runs.iterdir()
    return run_dir, read_manifest(run_dir)


OTHERS: set[int] = set()


def nothing_left(workspace: Workspace) -> bool:
    """No sandbox, and no process of a run."""
    names = ("mariadbd", "mysqld", "ibench_lib")
    commands = []
    for child in psutil.Process().children(recursive=True):
        if child.pid in OTHERS:
            continue
        with suppress(psutil.NoSuchProcess):
            commands.append(" ".join(child.cmdline()))
    left = [command for command in commands if any(name in command for name in names)]
    return list(workspace.sandboxes.iterdir()) == [] and left == []
