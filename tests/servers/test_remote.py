"""A remote server: a real one, that a sandbox plays."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from ibench_lib.errors import BuildNotFound, ExperimentError, RunFailed, ServerStartError, UsageError
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.one_run import DATABASE
from ibench_lib.runner.sweep import run_experiment
from ibench_lib.servers import registry, remote
from ibench_lib.servers.address import Address
from ibench_lib.servers.build import Build
from ibench_lib.servers.find import find_build
from ibench_lib.servers.inspection import inspect
from ibench_lib.servers.remote import Access
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from tests.command import PROGRAM, ibench
from tests.waiting import until

pytestmark = pytest.mark.lake

EXPERIMENT = """
title: Remote
builds: [lab1]
configs: [{name: p1, fragments: [p1]}]
setups: [{name: tiny, l_i0_rows: 2000, l_i1_rows: 1000, l_i2_rows: 1000, query_seconds: 1}]
workload: {benchmark: insert_benchmark, clients: 1, steps: [l.i0, l.x, l.i1], transport: %s}
"""


@pytest.fixture(scope="module")
def lab(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    folder = tmp_path_factory.mktemp("lab")
    (folder / "my.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=32M\nskip_log_bin\n")
    with Sandbox(build, folder / "box", folder / "my.cnf", folder / "log", tcp=True) as address:
        yield address


def access(lab: Address, **password: str) -> Access:
    assert lab.port is not None
    return Access("127.0.0.1", lab.port, "root", **(password or {"password_variable": "LAB_PASSWORD"}))


def databases(lab: Address) -> list[str]:
    with pymysql.connect(**lab.arguments()) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW DATABASES")
        return [str(name) for (name,) in cursor.fetchall()]


@pytest.mark.fault("F26")
def test_only_the_place_of_the_password_is_stored(
    lab: Address, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"LAB_PASSWORD.* is not set"):
        remote.register("lab1", access(lab), workspace)
    monkeypatch.setenv("LAB_PASSWORD", "wrong")
    with pytest.raises(ServerStartError, match="Access denied") as caught:
        remote.register("lab1", access(lab), workspace)
    assert "wrong" not in str(caught.value)
    assert registry.labels(workspace) == []
    monkeypatch.setenv("LAB_PASSWORD", lab.password)
    registered = remote.register("lab1", access(lab), workspace)
    assert lab.password not in (workspace.build_dir("lab1") / registry.DESCRIPTION).read_text()
    assert lab.password not in repr(registered) + repr(registered.access.address())
    assert find_build("lab1", workspace) == registered
    with pytest.raises(BuildNotFound, match="already exists"):
        remote.register("lab1", access(lab), workspace)

    monkeypatch.delenv("LAB_PASSWORD")
    options = tmp_path / "lab.cnf"
    options.write_text(f'[mysqldump]\nquick\n[client]\npassword = "{lab.password}"\n')
    assert remote.register("lab2", access(lab, option_file=str(options)), workspace).flavour == registered.flavour
    options.write_text("[client]\nuser=x\n")
    with pytest.raises(UsageError, match=r"lab\.cnf has no password"):
        find_build("lab2", workspace)


def test_a_remote_server_is_looked_at_without_being_started(
    lab: Address, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_PASSWORD", lab.password)
    found = inspect(remote.register("lab1", access(lab), workspace), workspace)
    assert found.engines["InnoDB"] == "DEFAULT"
    assert found.metrics > 100


def test_a_run_leaves_nothing_behind_and_touches_no_database_of_others(
    lab: Address, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_PASSWORD", lab.password)
    remote.register("lab1", access(lab), workspace)
    (tmp_path / "remote.yaml").write_text(EXPERIMENT % "socket")
    with pytest.raises(ExperimentError, match=r"lab1 is remote and uses transport tcp"):
        run_experiment(load_experiment(tmp_path / "remote.yaml"), workspace, Observer())
    (tmp_path / "remote.yaml").write_text(EXPERIMENT % "tcp")
    experiment = load_experiment(tmp_path / "remote.yaml")
    before = databases(lab)
    (manifest,) = run_experiment(experiment, workspace, Observer()).made
    assert manifest.status == "complete"
    assert any("is remote" in warning for warning in manifest.warnings)
    assert databases(lab) == before
    assert lab.password not in json.dumps(manifest.model_dump(mode="json"))

    with pymysql.connect(**lab.arguments()) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {DATABASE}")
        cursor.execute(f"CREATE TABLE {DATABASE}.precious (a INT)")
        with pytest.raises(RunFailed, match="already has a database ibench"):
            run_experiment(experiment, workspace, Observer(), again=True)
        cursor.execute(f"SELECT COUNT(*) FROM {DATABASE}.precious")
        cursor.execute(f"DROP DATABASE {DATABASE}")
    (failed,) = [m for d in workspace.runs.iterdir() if (m := read_manifest(d)).status == "failed"]
    assert "has a database" in (failed.error or "")


@pytest.mark.slow
def test_a_killed_run_is_named_with_the_database_that_it_has_left(
    lab: Address, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_PASSWORD", lab.password)
    remote.register("lab1", access(lab), workspace)
    path = tmp_path / "remote.yaml"
    path.write_text((EXPERIMENT % "tcp").replace("l.i1]", "{step: l.i1, rate: 1}]"))
    environment = {**os.environ, "IBENCH_HOME": str(workspace.root)}
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, "run", str(path)], env=environment)
    l_i1 = "SELECT count(*) FROM steps WHERE step = 'l.i1'"
    until(lambda: reader.lake(workspace).execute(l_i1).fetchall() == [(1,)], "l.i1 has begun", every_s=0.2)
    process.kill()
    process.wait()
    (killed,) = workspace.runs.iterdir()
    said = f"database {DATABASE} is still on lab1: it was not dropped; drop it before the next run"
    path.write_text(EXPERIMENT % "tcp")
    again = ibench(workspace, "run", str(path))
    assert again.returncode == 1 and read_manifest(killed).warnings.count(said) == 1
    assert f"recovered {killed.name}: its runner had been killed\n    {said}\n" in again.stdout + again.stderr
    hint = f"run {killed.name} has left it there: DROP DATABASE {DATABASE}, if nobody else uses it"
    assert f"lab1 already has a database {DATABASE}" in again.stderr and hint in again.stderr
    with pymysql.connect(**lab.arguments()) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {DATABASE}")
    (made,) = run_experiment(load_experiment(path), workspace, Observer()).made
    assert not any("is still on" in warning for warning in made.warnings) and DATABASE not in databases(lab)
