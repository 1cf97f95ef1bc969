"""Whole runs: from an empty server to a sealed run."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import psutil
import pyarrow.parquet as pq
import pytest

import ibench_lib as ib
from ibench_lib.errors import (
    BuildNotFound,
    ConfigError,
    ExperimentError,
    IbenchError,
    Interrupted,
    RunFailed,
    ServerLost,
)
from ibench_lib.experiment.cells import LoadedExperiment, load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.paths import workspace as project
from ibench_lib.runner.cell import run_cell
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.plan import fit_cell, plan_cell
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.servers import catalogue
from ibench_lib.servers.address import Address
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from ibench_lib.store.verify import verify
from ibench_lib.workloads.tpcc.checks import CONDITIONS
from ibench_lib.workloads.tpcc.tables import names
from ibench_lib.workloads.workload import Step
from tests.builds.test_builds import distribution, installed
from tests.faults import is_server, server_here
from tests.measurement.real import ask, connect
from tests.synthetic import answer
from tests.workloads.tpcc.warehouse import MY_CNF

pytestmark = pytest.mark.lake

TEXT = """\
title: t
builds: [system]
configs: [{name: base, fragments: [tiny]}]
configs_folder: own
setups: [{name: s, sets: %d, warehouses: %d, terminals: 4, ramp_up: 1.0, seconds: 2.0}]
workload: {benchmark: tpcc, clients: 2, seed: 5%s}
"""


def loaded(folder: Path, sets: int, warehouses: int, more: str = "") -> LoadedExperiment:
    (folder / "own").mkdir()
    (folder / "own" / "tiny.cnf").write_text(MY_CNF)
    path = folder / "t.yaml"
    path.write_text(TEXT % (sets, warehouses, more))
    return load_experiment(path)


@pytest.mark.long
def test_two_sets_of_two_warehouses_from_load_to_seal(tmp_path: Path, build: Build, workspace: Workspace) -> None:
    experiment = loaded(tmp_path, 2, 2, ", history_key: auto_increment, indexes: needed")
    manifest = run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, Observer())
    assert manifest.status == "complete"
    run_dir = workspace.run_dir(manifest.run_id)
    assert verify(run_dir) == []
    counted = {
        (row["step"], row["table_name"]): row["row_count"]
        for row in pq.read_table(run_dir / "table_counts.parquet").to_pylist()
    }
    assert {table for _, table in counted} == set(names(2))
    for end in ("1", "2"):
        of_load = {table.removesuffix(end): counted["load", table] for table in names(2) if table.endswith(end)}
        lines = of_load.pop("order_line")
        assert abs(lines - 600_000) < 4 * (60_000 * 10) ** 0.5
        assert of_load == {
            "warehouse": 2, "district": 20, "customer": 60_000, "history": 60_000, "new_orders": 18_000,
            "orders": 60_000, "stock": 200_000, "item": 100_000,
        }  # fmt: skip
    by_step = {row["step"]: row for row in pq.read_table(run_dir / "steps.parquet").to_pylist()}
    assert list(by_step) == ["load", "index", "ramp_up", "run"]
    ops = pq.read_table(run_dir / "ops.parquet").to_pylist()
    placed = sum(row["rows"] for row in ops if row["operation"] == "new_order")
    assert placed > 0
    assert sum(counted["run", f"orders{end}"] for end in ("1", "2")) == 120_000 + placed


class Meddler(Observer):
    """Changes a row in the middle of the run, which no terminal has done."""

    def __init__(self) -> None:
        self.address: Address | None = None
        self.done = False

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None:
        if step.name == "run" and not self.done:
            assert self.address is not None
            self.done = True
            with connect(self.address) as connection:
                ask(connection, "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 3")


@pytest.mark.long
@pytest.mark.slow
def test_a_violated_condition_fails_the_run_and_is_named(
    tmp_path: Path, build: Build, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    meddler = Meddler()

    class Seen(Sandbox):
        def __enter__(self) -> Address:
            meddler.address = super().__enter__()
            return meddler.address

    monkeypatch.setattr("ibench_lib.runner.server.Sandbox", Seen)
    experiment = loaded(tmp_path, 1, 1, ", foreign_keys: checked")
    with pytest.raises(RunFailed) as caught:
        run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, meddler)
    expected = (
        "step run: the number of rows that violate condition C1 is 1, but condition C1 (w_ytd is the sum of d_ytd) "
        "allows 0 (1 more of 23 checks failed)"
    )
    assert caught.value.what.endswith(expected)
    assert "condition C9 is 1" in (caught.value.detail or ""), "all that is wrong is known, not the first thing only"
    (run_dir,) = workspace.runs.iterdir()
    failed = read_manifest(run_dir)
    assert failed.status == "failed" and pq.read_table(run_dir / "ops.parquet").num_rows
    of_load, of_run = failed.verdicts
    assert (of_load.step, of_load.made - of_load.held, of_load.failed) == ("load", 0, [])
    assert (of_run.step, of_run.made, of_run.held) == ("run", 23, 21) and "condition C9 is 1" in of_run.failed[1]


class Accident(Observer):
    """Something that happens to a step, once it has begun."""

    def __init__(self, step: str, act: Callable[[], None]) -> None:
        self.step, self.act = step, act
        self.happened = False

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None:
        if step.name == self.step and elapsed_s > 0 and any(worker.counted for worker in workers) and not self.happened:
            self.happened = True
            self.act()


def left(workspace: Workspace, others: set[int]) -> list[str]:
    """Sandboxes, and processes of this test that still live."""
    found = [path.name for path in workspace.sandboxes.iterdir()]
    for child in psutil.Process().children(recursive=True):
        if child.pid not in others:
            with suppress(psutil.NoSuchProcess):
                found += [word for word in child.cmdline() if word.startswith("ibench_lib") or is_server(child)]
    return found


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("accident", ["the server is killed", "Ctrl-C"])
def test_an_accident_in_the_load_is_one_line_and_what_was_captured_is_kept(
    tmp_path: Path, build: Build, workspace: Workspace, accident: str
) -> None:
    others = {child.pid for child in psutil.Process().children(recursive=True)}
    experiment = loaded(tmp_path, 1, 20)
    acts: dict[str, tuple[Callable[[], None], type[IbenchError], str, str]] = {
        "the server is killed": (
            lambda: server_here(others).kill(),
            ServerLost,
            "failed",
            "step load: the server died",
        ),
        "Ctrl-C": (lambda: os.kill(os.getpid(), signal.SIGINT), Interrupted, "interrupted", " interrupted"),
    }
    act, kind, status, said = acts[accident]
    with pytest.raises(kind) as caught:
        run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, Accident("load", act))
    assert said in caught.value.what and "\n" not in caught.value.what
    (run_dir,) = workspace.runs.iterdir()
    manifest = read_manifest(run_dir)
    assert (manifest.status, manifest.failed_step) == (status, "load")
    assert verify(run_dir) == []
    captured = pq.read_table(run_dir / "ops.parquet").to_pylist()
    assert sum(row["rows"] for row in captured) > 0 and {row["step"] for row in captured} == {"load"}
    assert left(workspace, others) == []


@pytest.mark.fault("F8")
def test_more_warehouses_than_the_disk_has_room_for_are_refused_with_the_bytes(
    tmp_path: Path, build: Build, workspace: Workspace
) -> None:
    experiment = loaded(tmp_path, 1, 30_000)
    with pytest.raises(ExperimentError, match=r"not enough space in .* bytes needed") as caught:
        run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, Observer())
    assert "\n" not in caught.value.what
    numbers = [int(number.replace(",", "")) for number in re.findall(r"[\d,]{6,}", caught.value.what)]
    assert any(number > 30_000 * 100e6 for number in numbers), "30,000 warehouses of 100 MB"
    assert not workspace.runs.exists()


@pytest.mark.fault("F19")
def test_an_option_that_the_build_refuses_is_named_with_its_line_before_anything_is_made(
    tmp_path: Path, build: Build, workspace: Workspace
) -> None:
    experiment = loaded(tmp_path, 1, 1)
    fragment = tmp_path / "own" / "tiny.cnf"
    fragment.write_text(MY_CNF + "innodb_dedicated_warehouse=1\n")
    experiment = load_experiment(tmp_path / "t.yaml")
    with pytest.raises(ConfigError, match="innodb_dedicated_warehouse") as caught:
        run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, Observer())
    assert "\n" not in caught.value.what
    line = len(MY_CNF.splitlines()) + 1
    assert f"tiny.cnf:{line}: innodb_dedicated_warehouse is unknown to {build.flavour}" in (caught.value.detail or "")
    assert not workspace.runs.exists() or list(workspace.runs.iterdir()) == []


@pytest.mark.long
def test_what_a_profile_breaks_is_noted_and_does_not_fail_the_run(
    tmp_path: Path, build: Build, workspace: Workspace
) -> None:
    experiment = loaded(tmp_path, 1, 1, ", profile: tpcc_mysql, checks: full")
    manifest = run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, Observer())
    assert manifest.status == "complete" and verify(workspace.run_dir(manifest.run_id)) == []
    of_run = read_manifest(workspace.run_dir(manifest.run_id)).verdicts[-1]
    assert "profile tpcc_mysql" in of_run.broken.values() and not of_run.failed
    assert of_run.made == of_run.held + len(of_run.broken)
    lake = reader.lake(workspace)
    checks = answer(lake, "checks", experiment.name)
    broken = checks.filter(pl.col("broken") > 0)
    assert set(broken["step"]) == {"run"} and set(broken["broken_by"]) == {"profile tpcc_mysql"}
    assert "C12" in set(broken["rule"]) <= {"C10", "C12"}
    assert set(checks.filter(step="load")["rule"]) == {"rows", "ledger", *CONDITIONS}
    assert set(checks.filter(step="run")["rule"]) == {"rows", "ledger", *CONDITIONS} - {"C11"}
    said = " ".join(ib.tpcc_statements(answer(lake, "tpcc_workload", experiment.name), checks))
    assert "C12 did not hold" in said and "defects of profile tpcc_mysql break this" in said


def test_cells_that_differ_in_terminals_share_a_load(tmp_path: Path) -> None:
    experiment = loaded(tmp_path, 1, 1)
    workload, options = experiment.workload, experiment.spec.workload
    keys: list[Any] = []
    for terminals, seconds in ((4, 2.0), (8, 9.0)):
        size = experiment.cells()[0].setup.model_copy(update={"terminals": terminals, "seconds": seconds})
        steps = workload.steps(options, size, 1.0)
        keys.append((workload.load_key(options, steps[:2]), workload.load_key(options, steps)))
    assert keys[0][0] == keys[1][0] and keys[0][1] != keys[1][1]


@pytest.mark.registries
@pytest.mark.parametrize("more", ["", ", profile: sysbench_tpcc, isolation: repeatable_read"])
def test_myrocks_from_load_to_seal(tmp_path: Path, workspace: Workspace, more: str) -> None:
    """All conditions hold, whether the terminals read what is committed or repeat what their snapshots refuse."""
    build = catalogue.install(f"{distribution()}-rocksdb", project())
    experiment = loaded(tmp_path, 1, 1, f", engine: rocksdb{more}")
    manifest = run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, Observer())
    assert manifest.status == "complete"
    run_dir = workspace.run_dir(manifest.run_id)
    checks = pq.read_table(run_dir / "checks.parquet").to_pylist()
    assert {row["rule"] for row in checks if row["step"] == "run"} == {"rows", "ledger", *CONDITIONS} - {"C11"}
    assert all(row["found"] == row["expected"] for row in checks)
    run = [row for row in pq.read_table(run_dir / "ops.parquet").to_pylist() if row["step"] == "run"]
    assert sum(row["ops"] for row in run) > 20
    assert sum(row["retries"] for row in run) == sum(row["deadlocks"] + row["lock_timeouts"] for row in run)


@pytest.mark.registries
@pytest.mark.parametrize(
    ("label", "more"),
    [
        ("mysql-5.6.24", ", isolation: serializable"),
        ("mysql-9.7", ", protocol: prepared"),
        ("mariadb-10.1.23", ", profile: sysbench_tpcc"),
        ("mariadb-10.2.11", ", foreign_keys: declared"),
        ("mariadb-10.11.5", ", charset: utf8mb4, rate: 100"),
        ("mariadb-11.4.5", ", profile: tpcc_mysql"),
    ],
)
def test_every_build_from_load_to_seal(label: str, more: str, tmp_path: Path, workspace: Workspace) -> None:
    """All conditions hold but those that a profile breaks, and every key of the workload has been on a server."""
    build = installed(label)
    experiment = loaded(tmp_path, 1, 1, more)
    (tmp_path / "own" / "tiny.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=512M\n")
    experiment = load_experiment(tmp_path / "t.yaml")
    manifest = run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, Observer())
    assert manifest.status == "complete" and verify(workspace.run_dir(manifest.run_id)) == []
    checks = pq.read_table(workspace.run_dir(manifest.run_id) / "checks.parquet").to_pylist()
    assert {row["rule"] for row in checks if row["step"] == "run"} == {"rows", "ledger", *CONDITIONS} - {"C11"}
    assert all(row["found"] == row["expected"] or row["broken_by"] for row in checks)


@pytest.mark.registries
def test_a_server_without_myrocks_is_refused_before_anything_runs(tmp_path: Path) -> None:
    experiment = loaded(tmp_path, 1, 1, ", engine: rocksdb")
    build = catalogue.install("mariadb-11.4.5", project())
    with pytest.raises(BuildNotFound, match=r"has no plugin ha_rocksdb\.so, which `engine: rocksdb` needs") as caught:
        fit_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), Workspace(tmp_path))
    assert "\n" not in caught.value.what
