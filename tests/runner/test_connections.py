"""Connections are planned: what the clients need is held against what the server accepts, before anything is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ibench_lib.configs.meaning import KnownOptions
from ibench_lib.configs.resolve import Option, ServerConfig
from ibench_lib.errors import ExperimentError
from ibench_lib.experiment.cells import LoadedExperiment, load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner import connections
from ibench_lib.runner.cell import run_cell
from ibench_lib.runner.connections import Demand, demand, require_accepted, require_configured
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.plan import plan_cell
from ibench_lib.servers.build import Build
from ibench_lib.servers.remote import Access, Remote
from ibench_lib.store.manifest import read_manifest
from tests.command import ibench, refused
from tests.workloads.counter.workload import WORKLOAD as COUNTER
from tests.workloads.counter.workload import Options as CounterOptions

HERE = Build("here", "mariadb", "10.11.19-MariaDB", Path("/opt/db"), ("/opt/db/bin/mariadbd",), "test")
REFUSED, USED = "Connection_errors_max_connections", "Max_used_connections"
TEXT = """\
title: many clients
builds: [system]
configs_folder: own
configs: [{name: base, fragments: [small%(fragment)s]}]
setups: [{name: tiny, l_i0_rows: 200, l_i1_rows: 100, l_i2_rows: 100, query_seconds: 1}]
workload: {benchmark: insert_benchmark, clients: %(clients)d, steps: [%(steps)s]}
"""


def loaded(folder: Path, clients: int, fragment: str = "", steps: str = "l.i0, l.x, qr100") -> LoadedExperiment:
    (folder / "own").mkdir(exist_ok=True)
    (folder / "own" / "small.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=64M\nskip_log_bin\n")
    (folder / "own" / "many.cnf").write_text("[mysqld]\nmax_connections=2000\n")
    path = folder / "clients.yaml"
    path.write_text(TEXT % {"clients": clients, "fragment": fragment, "steps": steps})
    return load_experiment(path)


def needed(experiment: LoadedExperiment) -> Demand:
    steps = experiment.steps(experiment.cells()[0])
    return demand(experiment.workload, experiment.spec.workload, steps)


def test_what_is_needed_is_that_of_the_step_with_most_connections(tmp_path: Path) -> None:
    assert needed(loaded(tmp_path, 64)) == Demand("qr100", 192, 64)
    assert needed(loaded(tmp_path, 64, steps="l.i0, l.i1, l.x")) == Demand("l.i1", 128, 64)
    assert needed(loaded(tmp_path, 64, steps="l.i0")).total == 64 + connections.OWN_CONNECTIONS
    options: Any = CounterOptions(benchmark="counter", clients=3, connections=20)
    assert demand(COUNTER, options, COUNTER.steps(options, COUNTER.presets["small"], 1.0)) == Demand("play", 60, 3)


@pytest.mark.parametrize(
    ("set_to", "limit", "where"),
    [
        (None, 151, r"the default of mariadb 10\.11\.19-MariaDB"),
        ("150", 150, r"a\.cnf:2: max_connections"),
        ("199", 199, r"a\.cnf:2: max_connections"),
        ("200", None, None),
        ("2K", None, None),
    ],
)
def test_a_configuration_that_accepts_too_few_is_refused(
    monkeypatch: pytest.MonkeyPatch, set_to: str | None, limit: int | None, where: str | None
) -> None:
    known = KnownOptions(frozenset({"max_connections"}), {"max_connections": "151"})
    monkeypatch.setattr(connections, "known_options", lambda _build: known)
    config = ServerConfig(() if set_to is None else (Option("max_connections", set_to, "a.cnf:2"),))
    if limit is None:
        require_configured(HERE, config, Demand("qr100", 192, 64))
        return
    expected = (
        rf"step qr100 needs 200 connections \(192 for 64 clients, up to 8 for ibench\), but build here accepts {limit} "
        rf"\({where}\)"
    )
    with pytest.raises(ExperimentError, match=expected) as caught:
        require_configured(HERE, config, Demand("qr100", 192, 64))
    assert caught.value.hint == "set max_connections=200 or more in a fragment, or use fewer clients"
    assert caught.value.lasting, "to repeat the cell would not help"


def test_a_server_that_runs_is_held_to_what_it_says() -> None:
    far = Remote("far", "mysql", "8.0.36", Access("db.lab", 3306, "bench", password_variable="SECRET"))
    require_configured(far, ServerConfig(()), Demand("qr100", 10**6, 64))
    require_accepted(far, {}, Demand("qr100", 10**6, 64))
    require_accepted(far, {"max_connections": "200"}, Demand("qr100", 192, 64))
    with pytest.raises(ExperimentError, match=r"build far accepts 199 \(as the server says\)"):
        require_accepted(far, {"max_connections": "199"}, Demand("qr100", 192, 64))


@pytest.mark.parametrize("clients", [64, 256])
def test_check_refuses_what_the_default_does_not_accept(
    build: Build, workspace: Workspace, tmp_path: Path, clients: int
) -> None:
    loaded(tmp_path, clients)
    refused(
        ibench(workspace, "experiment", "check", str(tmp_path / "clients.yaml")),
        f"step qr100 needs {3 * clients + 8} connections ({3 * clients} for {clients} clients",
        f"set max_connections={3 * clients + 8} or more in a fragment",
    )
    loaded(tmp_path, clients, ", many")
    assert ibench(workspace, "experiment", "check", str(tmp_path / "clients.yaml")).returncode == 0


def test_a_server_that_lowers_the_limit_ends_the_run_before_it_loads(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = loaded(tmp_path, 64)
    monkeypatch.setattr("ibench_lib.runner.fit.require_configured", lambda *_: None)
    with pytest.raises(ExperimentError, match=r"build system accepts 151 \(as the server says\)"):
        run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, Observer())
    (run_dir,) = workspace.runs.iterdir()
    manifest = read_manifest(run_dir)
    assert (manifest.status, manifest.failed_step) == ("failed", None)
    assert "accepts 151" in (manifest.error or "")


@pytest.mark.long
def test_a_limit_of_exactly_what_was_planned_is_enough(build: Build, workspace: Workspace, tmp_path: Path) -> None:
    """With every collector that connects, a transaction that is held open, and settling."""
    experiment = loaded(tmp_path, 2, ", exact")
    most = needed(experiment).total
    (tmp_path / "own" / "exact.cnf").write_text(f"[mysqld]\nmax_connections={most}\nperformance_schema=ON\n")
    path = tmp_path / "clients.yaml"
    text = path.read_text().replace("clients: 2", "clients: 2, settle: flush, long_transaction: [qr100]")
    path.write_text(f"{text}capture: {{waits: true}}\n")
    experiment = load_experiment(path)
    manifest = run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, Observer())
    assert manifest.status == "complete"
    counters = pq.read_table(workspace.run_dir(manifest.run_id) / "server_counters.parquet").to_pylist()
    values = {name: [row["value"] for row in counters if row["name"] == name] for name in (REFUSED, USED)}
    assert set(values[REFUSED]) == {0}, "nobody was turned away"
    assert 6 < max(values[USED]) <= most
