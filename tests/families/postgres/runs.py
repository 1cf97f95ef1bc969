"""Runs of the Insert Benchmark on PostgreSQL, with a hand on the server while they last."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.sweep import run_experiment
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.servers import registry
from ibench_lib.servers.address import Address
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.store.manifest import Manifest, read_manifest
from ibench_lib.workloads.workload import Step

SMALL = "shared_buffers = 24MB\nmax_wal_size = 64MB\nmin_wal_size = 32MB\nfsync = off\n"

_EXPERIMENT = """
title: the Insert Benchmark on PostgreSQL
builds: [pg]
configs_folder: own
configs: [{{name: small, fragments: [cx10a, small]}}]
setups: [{{name: tiny, l_i0_rows: {rows}, l_i1_rows: {l_i1_rows}, l_i2_rows: 500, query_seconds: {seconds}}}]
workload: {{benchmark: insert_benchmark, clients: 1, steps: [{steps}], settle: flush, protocol: {protocol}}}
"""


class HandOn(Observer):
    """Observes a run, acts once in a step, and knows the run's server."""

    def __init__(
        self, act: Callable[[Sandbox], None] = lambda box: None, step: str = "l.i0", after_s: float = 1.0
    ) -> None:
        self._act: Callable[[Sandbox], None] | None = act
        self._step, self._after_s = step, after_s
        self.boxes: list[Sandbox] = []

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None:
        if step.name == self._step and elapsed_s >= self._after_s and self._act is not None:
            act, self._act = self._act, None
            act(self.boxes[-1])


def register(build: Build, workspace: Workspace) -> None:
    """Make a build of the workspace, `pg`, of one that lies elsewhere."""
    with registry.arriving(workspace) as root:
        registry.describe(
            root,
            basedir=str(build.basedir),
            command=list(build.command),
            source="test",
            environment=build.environment,
        )
        registry.adopt(root, "pg", workspace)


def experiment(folder: Path, options: str = SMALL, **more: Any) -> Path:
    """The file of an experiment with the build `pg`."""
    given = {"rows": 4000, "l_i1_rows": 2000, "seconds": 3, "steps": "l.i0", "protocol": "prepared", **more}
    (folder / "own").mkdir()
    (folder / "own" / "small.postgres.conf").write_text(options)
    (folder / "pg.yaml").write_text(_EXPERIMENT.format(**given))
    return folder / "pg.yaml"


def run(path: Path, hand: HandOn, monkeypatch: pytest.MonkeyPatch) -> Manifest:
    """Make the one run of an experiment. Raises what it raises."""

    class Seen(Sandbox):
        def __enter__(self) -> Address:
            hand.boxes.append(self)
            return super().__enter__()

    monkeypatch.setattr("ibench_lib.runner.server.Sandbox", Seen)
    # Steps that something else ends are given more rows than any disk has room for.
    monkeypatch.setattr("ibench_lib.runner.space.require_space", lambda *_, **__: [])
    workspace = Workspace(path.parent)
    run_experiment(load_experiment(path), workspace, hand)
    return sealed(workspace)


def sealed(workspace: Workspace) -> Manifest:
    """The manifest of the one run."""
    (run_dir,) = workspace.runs.iterdir()
    return read_manifest(run_dir)


def table(workspace: Workspace, name: str) -> list[dict[str, Any]]:
    """Rows of a table of the one run."""
    (run_dir,) = workspace.runs.iterdir()
    rows: list[dict[str, Any]] = pq.read_table(run_dir / f"{name}.parquet").to_pylist()
    return rows
