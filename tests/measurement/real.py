"""Small runs on the real server, with a hand on the server while they last."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pymysql
import pytest

from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.cell import run_cell
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.plan import plan_cell
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.servers.address import Address
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.store.manifest import Manifest, read_manifest
from ibench_lib.workloads.workload import Step
from tests.faults import Victim

EXPERIMENT = """
title: measured with a hand on the server
builds: [system]
configs: [{name: hand, fragments: [cy10a]}]
setups: [{name: hand, l_i0_rows: %(rows)d, l_i1_rows: %(rows)d, l_i2_rows: 100, query_seconds: %(seconds)d}]
workload: {benchmark: insert_benchmark, clients: 2, steps: [%(steps)s], statement_timeout_s: %(timeout_s)g}
"""
NO_LIMIT = 1_000_000_000


class HandOn(Observer):
    """Observes a run, acts once in the middle of a step, and knows the run's server.

    Parameters
    ----------
    step, after_s : when to act.
    act : gets this object and the step's workers.
    at_end : called at the end of each step that was done, with this object and the step's name.
    """

    def __init__(
        self,
        step: str | None = None,
        after_s: float = 0.0,
        act: Callable[[HandOn, list[WorkerState]], None] | None = None,
        at_end: Callable[[HandOn, str], None] | None = None,
    ) -> None:
        self.step, self.after_s, self.act, self.at_end = step, after_s, act, at_end
        self.sandbox: Sandbox | None = None
        self.address: Address | None = None

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None:
        if step.name == self.step and elapsed_s >= self.after_s and self.act is not None:
            act, self.act = self.act, None
            act(self, workers)

    def step_ends(self, step: Step, duration_s: float) -> None:
        if self.at_end is not None:
            self.at_end(self, step.name)

    @property
    def server(self) -> Victim:
        assert self.sandbox is not None and self.sandbox.process is not None
        return Victim(self.sandbox.process.pid)

    def connect(self) -> pymysql.Connection[Any]:
        assert self.address is not None
        return connect(self.address)


class Revived(Sandbox):
    """A sandbox that starts on a data directory that another server has left."""

    def __init__(self, build: Build, directory: Path, my_cnf: Path, error_log: Path, left: Path) -> None:
        super().__init__(build, directory, my_cnf, error_log)
        self._left = left

    def _initialise(self, my_cnf: Path, datadir: Path) -> None:
        shutil.move(self._left, datadir)


def connect(address: Address) -> pymysql.Connection[Any]:
    return pymysql.connect(**address.arguments(), database="ibench", autocommit=True, read_timeout=30)


def ask(connection: pymysql.Connection[Any], query: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def run(
    hand: HandOn,
    build: Build,
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    *,
    steps: str,
    rows: int = NO_LIMIT,
    seconds: int = 1,
    timeout_s: float = 30.0,
    cnf: str = "",
) -> Manifest:
    """Make the run; raises what it raises."""

    class Seen(Sandbox):
        def __enter__(self) -> Address:
            hand.sandbox, hand.address = self, super().__enter__()
            return hand.address

    configs = workspace.root / "configs"
    configs.mkdir()
    (configs / "cy10a.cnf").write_text(f"[mysqld]\ninnodb_buffer_pool_size=64M\nskip_log_bin\n{cnf}")
    monkeypatch.setattr("ibench_lib.paths.FRAGMENTS", configs)
    monkeypatch.setattr("ibench_lib.runner.server.Sandbox", Seen)
    # Steps that something else ends are given more rows than any disk has room for.
    monkeypatch.setattr("ibench_lib.runner.space.require_space", lambda *_, **__: [])
    path = workspace.root / "hand.yaml"
    path.write_text(EXPERIMENT % {"steps": steps, "rows": rows, "seconds": seconds, "timeout_s": timeout_s})
    experiment = load_experiment(path)
    return run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, hand)


def table(workspace: Workspace, name: str, step: str | None = None) -> list[dict[str, Any]]:
    """Rows of a table of the one run, of one step or of all."""
    (run_dir,) = workspace.runs.iterdir()
    rows: list[dict[str, Any]] = pq.read_table(run_dir / f"{name}.parquet").to_pylist()
    return [row for row in rows if step is None or row["step"] == step]


def sealed(workspace: Workspace) -> Manifest:
    """The manifest of the one run."""
    (run_dir,) = workspace.runs.iterdir()
    return read_manifest(run_dir)


def assert_server_gone(hand: HandOn, pid: int, workspace: Workspace) -> None:
    assert hand.sandbox is not None and not hand.sandbox.alive()
    assert not psutil.pid_exists(pid)
    assert list(workspace.sandboxes.iterdir()) == []
