"""Whole runs: from an empty server to a sealed run."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pyarrow.parquet as pq
import pymysql
import pytest

from ibench_lib.errors import BuildNotFound, ExperimentError, HostUnfit, RunFailed
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
from ibench_lib.workloads.linkbench.inputs import OPERATIONS
from ibench_lib.workloads.linkbench.population import Graph, rows_by_table
from ibench_lib.workloads.linkbench.workload import WORKLOAD
from ibench_lib.workloads.workload import Step
from tests.builds.test_builds import distribution
from tests.measurement.real import ask, connect
from tests.synthetic import answer

pytestmark = pytest.mark.lake

MY_CNF = (
    "[mysqld]\ninnodb_buffer_pool_size=128M\ninnodb_log_file_size=64M\ninnodb_doublewrite=0\nskip_log_bin\n"
    "innodb_flush_log_at_trx_commit=0\n"
)
HALF_A_SECOND = 19 * 64  # the bin of 2^19 us
SHORT_WAITS = "innodb_lock_wait_timeout=1\n"
COUNTED = ("INSERT", "UPDATE", "DELETE", "BEGIN", "COMMIT", "ROLLBACK")
TEXT = """\
title: t
builds: [system]
configs: [{name: base, fragments: [tiny]}]
configs_folder: own
setups: [{name: s, nodes: %d, warm_up: 1.0, seconds: %s}]
workload: {benchmark: linkbench, clients: 2, seed: 5, degree_tail: scaled, partitions: 2%s}
"""


def loaded(folder: Path, more: str = "", nodes: int = 3000, seconds: float = 1.0, cnf: str = "") -> LoadedExperiment:
    (folder / "own").mkdir()
    (folder / "own" / "tiny.cnf").write_text(MY_CNF + cnf)
    path = folder / "t.yaml"
    path.write_text(TEXT % (nodes, seconds, more))
    return load_experiment(path)


@pytest.mark.parametrize(
    ("more", "names"),
    [
        (", requesters: [1, 4]", ["load", "warm_up", "t1", "t4", "control"]),
        pytest.param(
            ", requesters: [3], control: false, tables: '2013', statements: '2013', secondary_index: after, rate: 200",
            ["load", "index", "warm_up", "t3"],
            marks=pytest.mark.long,
        ),
    ],
    ids=["2015", "2013"],
)
def test_from_load_to_seal(tmp_path: Path, build: Build, workspace: Workspace, more: str, names: list[str]) -> None:
    """The checks after each step have held, or the run would have failed."""
    experiment = loaded(tmp_path, more)
    manifest = run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, Observer())
    assert manifest.status == "complete"
    run_dir = workspace.run_dir(manifest.run_id)
    assert verify(run_dir) == []
    assert [row["step"] for row in pq.read_table(run_dir / "steps.parquet").to_pylist()] == names
    counted = {
        (row["step"], row["table_name"]): row["row_count"]
        for row in pq.read_table(run_dir / "table_counts.parquet").to_pylist()
    }
    expected = rows_by_table(Graph(3000, "scaled"))
    assert {table: counted["load", table] for table in expected} == expected
    connections = Counter[str]()
    for row in pq.read_table(run_dir / "workers.parquet").to_pylist():
        connections[row["step"]] += row["connections"]
    assert {step: connections[step] for step in names if step.startswith("t")} == {
        step: int(step[1:]) for step in names if step.startswith("t")
    }
    done = Counter[str]()
    for row in pq.read_table(run_dir / "ops.parquet").to_pylist():
        done[row["operation"]] += row["rows"]
    assert done["get_links_list"] > 0
    assert counted[names[-1], "nodetable"] == 3000 + done["add_node"] - done["delete_node"]
    explained(workspace, run_dir)


def explained(workspace: Workspace, run_dir: Path) -> None:
    """Every operation has an outcome, and the outcomes explain what the server has counted, but for repeats."""
    ops = pq.read_table(run_dir / "ops.parquet").to_pylist()
    of_operations, outcomes = Counter[tuple[int, str]](), Counter[tuple[int, str]]()
    for row in ops:
        if row["operation"] in OPERATIONS:
            of_operations[row["step_id"], row["operation"]] += row["ops"]
    for row in pq.read_table(run_dir / "outcomes.parquet").to_pylist():
        outcomes[row["step_id"], row["operation"]] += row["ops"]
    assert outcomes == +of_operations
    found = answer(reader.lake(workspace), "linkbench_statements", "t").rows(named=True)
    assert {row["statement"] for row in found} == set(COUNTED) | {"SELECT"}
    steps = len({row["step"] for row in found})
    exact = [row for row in found if row["repeats"] == 0 and row["statement"] in COUNTED]
    assert len(exact) >= len(COUNTED), "one requester alone meets no deadlock"
    assert len(found) == steps * (len(COUNTED) + 1) and sum(row["sent"] for row in exact) > 100
    # On a busy machine the server's counters may not be read around all statements of a step: then nothing is said.
    assert {0} <= {row["unexplained"] for row in exact} <= {0, None}
    for row in found:
        # Collectors ask twice a second at most, and a few times more at each end of a step.
        assert row["statement"] != "SELECT" or row["unexplained"] is None or 0 <= row["unexplained"] < 100
        if row["statement"] == "ROLLBACK":
            assert row["counted"] in (row["repeats"], None)


class WithServer(Observer):
    """Knows where the server is, and does `meddle` once in the middle of step t16."""

    address: Address | None = None
    pid: int | None = None
    thread: threading.Thread | None = None

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None:
        if step.name == "t16" and self.thread is None and sum(state.counted != {} for state in workers) == len(workers):
            self.thread = threading.Thread(target=self.meddle)
            self.thread.start()

    def meddle(self) -> None:
        raise NotImplementedError


class HoldsLocks(WithServer):
    """Locks counts, then links that requesters who wait for counts have locked; for longer than they wait at most."""

    def meddle(self) -> None:
        assert self.address is not None
        with connect(self.address) as connection:
            ask(connection, "BEGIN")
            ask(connection, "UPDATE counttable SET time = time + 1")
            time.sleep(0.3)
            ask(connection, "UPDATE linktable SET version = version + 1")
            time.sleep(2.5)
            ask(connection, "ROLLBACK")


class HoldsCounts(WithServer):
    """Locks counts for longer than requesters wait, who have changed a link before."""

    def meddle(self) -> None:
        assert self.address is not None
        with connect(self.address) as connection:
            ask(connection, "BEGIN")
            ask(connection, "UPDATE counttable SET time = time + 1")
            time.sleep(2.5)
            ask(connection, "ROLLBACK")


class Kills(WithServer):
    """Ends the connections of half of the requesters, in the middle of what they do."""

    def meddle(self) -> None:
        assert self.address is not None
        with connect(self.address) as connection:
            listed = (
                "SELECT GROUP_CONCAT(id) FROM information_schema.processlist WHERE db = 'ibench'"
                " AND id <> CONNECTION_ID()"
            )
            ((numbers,),) = ask(connection, listed)
            for number in numbers.split(",")[::2]:
                with contextlib.suppress(pymysql.err.OperationalError):  # it has ended already
                    ask(connection, f"KILL {number}")


class Stops(WithServer):
    """Stops the server for two seconds."""

    def meddle(self) -> None:
        assert self.pid is not None
        os.kill(self.pid, signal.SIGSTOP)
        time.sleep(2)
        os.kill(self.pid, signal.SIGCONT)


@pytest.fixture
def where(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[WithServer], None]]:
    """Tells an observer where the run's server is."""

    def tell(observer: WithServer) -> None:
        class Seen(Sandbox):
            def __enter__(self) -> Address:
                observer.address = super().__enter__()
                observer.pid = self.pid()
                return observer.address

        monkeypatch.setattr("ibench_lib.runner.server.Sandbox", Seen)

    yield tell


@pytest.mark.slow
def test_counts_hold_under_deadlocks_and_lock_wait_timeouts(
    tmp_path: Path, build: Build, workspace: Workspace, where: Callable[[WithServer], None]
) -> None:
    """Sixteen requesters on ten nodes: the checks after each step have held, or the run would have failed."""
    observer = HoldsLocks()
    where(observer)
    experiment = loaded(tmp_path, ", requesters: [16], control: false", nodes=10, seconds=5.0, cnf=SHORT_WAITS)
    manifest = run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, observer)
    assert observer.thread is not None
    observer.thread.join()
    assert manifest.status == "complete"
    rows = pq.read_table(workspace.run_dir(manifest.run_id) / "ops.parquet").to_pylist()
    for column in ("deadlocks", "lock_timeouts"):
        assert sum(row[column] for row in rows if row["step"] == "t16") > 0, column
    found = answer(reader.lake(workspace), "linkbench_statements", "t").rows(named=True)
    repeated = [row for row in found if row["step"] == "t16" and row["statement"] == "ROLLBACK"]
    (row,) = repeated
    assert row["counted"] == row["repeats"] + 1 > 1, "one more is of whom held the locks"


@pytest.mark.long
def test_the_checks_fail_when_a_client_forgets_to_roll_back(
    tmp_path: Path,
    build: Build,
    workspace: Workspace,
    where: Callable[[WithServer], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server keeps what came before a lock wait timeout, and the next START TRANSACTION commits it."""
    forgets = (
        "from ibench_lib.client.mysql.connection import Connection\n"
        "Connection.rollback = Connection.rollback.replace(b'ROLLBACK', b'DO 0')\n"
    )
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(forgets)  # which each client process begins with
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    observer = HoldsCounts()
    where(observer)
    experiment = loaded(tmp_path, ", requesters: [16], control: false", nodes=10, seconds=5.0, cnf=SHORT_WAITS)
    with pytest.raises(RunFailed) as caught:
        run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, observer)
    assert observer.thread is not None
    observer.thread.join()
    assert "step t16: " in caught.value.what and "but " in caught.value.what
    checks = answer(reader.lake(workspace), "checks", "t")
    assert not checks.filter((pl.col("step") == "t16") & (pl.col("held") < pl.col("checks"))).is_empty()
    assert checks.filter(pl.col("held") < pl.col("checks"))["step"].unique().to_list() == ["t16"]


@pytest.mark.slow
def test_a_stalled_server_shows_in_the_intended_times_of_all_who_had_to_wait(
    tmp_path: Path, build: Build, workspace: Workspace, where: Callable[[WithServer], None]
) -> None:
    """Half a second or more: the 16 operations in flight by service time, 200 a second by intended time."""
    observer = Stops()
    where(observer)
    experiment = loaded(tmp_path, ", requesters: [16], control: false, rate: 200", nodes=500, seconds=8.0)
    manifest = run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, observer)
    assert observer.thread is not None
    observer.thread.join()
    rows = pq.read_table(workspace.run_dir(manifest.run_id) / "ops.parquet").to_pylist()
    late = Counter[str]()
    for row in rows:
        for kind in ("service", "intended"):
            if row["step"] == "t16":
                pairs = zip(row[f"{kind}_bins"], row[f"{kind}_counts"], strict=True)
                late[kind] += sum(count for number, count in pairs if number >= HALF_A_SECOND)
    assert late["service"] >= 1 and late["intended"] >= 200


@pytest.mark.slow
def test_connections_lost_in_mid_transaction_are_one_clear_line_and_nothing_is_lost(
    tmp_path: Path, build: Build, workspace: Workspace, where: Callable[[WithServer], None]
) -> None:
    observer = Kills()
    where(observer)
    experiment = loaded(tmp_path, ", requesters: [16], control: false", nodes=500, seconds=30.0)
    with pytest.raises(RunFailed, match=r"step t16: client \d requester: (connection lost|server answered)") as caught:
        run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, observer)
    assert "\n" not in caught.value.what and "captured data is kept" in (caught.value.hint or "")
    (run_dir,) = workspace.runs.iterdir()
    assert read_manifest(run_dir).status == "failed" and verify(run_dir) == []
    rows = [row for row in pq.read_table(run_dir / "ops.parquet").to_pylist() if row["step"] == "t16"]
    assert sum(row["ops"] for row in rows) > 0 and sum(row["unknown"] for row in rows) <= 16


class Meddler(Observer):
    """Changes a count in the middle of a step, which no requester has done."""

    def __init__(self) -> None:
        self.address: Address | None = None
        self.done = False

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None:
        if step.name == "t2" and not self.done:
            assert self.address is not None
            self.done = True
            with connect(self.address) as connection:
                ask(connection, "UPDATE counttable SET count = count + 1 ORDER BY id LIMIT 1")


@pytest.mark.long
def test_a_wrong_count_fails_the_run_and_is_named(
    tmp_path: Path, build: Build, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    meddler = Meddler()

    class Seen(Sandbox):
        def __enter__(self) -> Address:
            meddler.address = super().__enter__()
            return meddler.address

    monkeypatch.setattr("ibench_lib.runner.server.Sandbox", Seen)
    experiment = loaded(tmp_path, ", requesters: [2], control: false, count_rows: false", nodes=500)
    with pytest.raises(RunFailed) as caught:
        run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, meddler)
    expected = "step t2: the number of counts that differ from the links shown is 1, but LinkBench allows 0"
    assert caught.value.what.endswith(expected)
    (run_dir,) = workspace.runs.iterdir()
    assert read_manifest(run_dir).status == "failed"


def test_more_requesters_than_the_server_accepts_are_refused_before_anything_runs(tmp_path: Path, build: Build) -> None:
    experiment = loaded(tmp_path, ", requesters: [1, 150]", cnf="max_connections=100\n")
    with pytest.raises(ExperimentError, match=r"step warm_up needs 158 connections \(150 for 2 clients") as caught:
        fit_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), Workspace(tmp_path))
    assert "accepts 100" in caught.value.what and "\n" not in caught.value.what


def test_a_graph_that_does_not_fit_on_the_disk_is_refused_before_anything_runs(
    tmp_path: Path, build: Build, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = loaded(tmp_path, nodes=1_000_000)
    monkeypatch.setattr("ibench_lib.runner.space.shutil.disk_usage", lambda _: SimpleNamespace(free=1_200_000_000))
    with pytest.raises(HostUnfit, match=r"not enough space in .* bytes needed") as caught:
        run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, Observer())
    assert "\n" not in caught.value.what and not list(workspace.runs.glob("*/*.parquet"))


def test_cells_that_differ_in_requesters_share_a_load(tmp_path: Path) -> None:
    experiment = loaded(tmp_path)
    options, setup = experiment.spec.workload, experiment.cells()[0].setup
    keys = []
    for requesters in ([1], [8, 16]):
        changed = options.model_copy(update={"requesters": requesters})
        steps = WORKLOAD.steps(changed, setup, 1.0)
        keys.append((WORKLOAD.load_key(changed, steps[:1]), WORKLOAD.load_key(changed, steps)))
    assert keys[0][0] == keys[1][0] and keys[0][1] != keys[1][1]


@pytest.mark.registries
@pytest.mark.parametrize("more", ["", ", tables: '2013', statements: '2013', secondary_index: after"])
def test_myrocks_from_load_to_seal(tmp_path: Path, workspace: Workspace, more: str) -> None:
    build = catalogue.install(f"{distribution()}-rocksdb", project())
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "tiny.cnf").write_text("[mysqld]\nskip_log_bin\n")
    path = tmp_path / "t.yaml"
    text = TEXT.replace(", partitions: 2", ", engine: rocksdb")
    path.write_text(text % (3000, 1.0, f", requesters: [1, 4], control: false{more}"))
    experiment = load_experiment(path)
    manifest = run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, Observer())
    assert manifest.status == "complete"
    explained(workspace, workspace.run_dir(manifest.run_id))


@pytest.mark.registries
def test_a_server_without_myrocks_is_refused_before_anything_runs(tmp_path: Path, workspace: Workspace) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "tiny.cnf").write_text("[mysqld]\nskip_log_bin\n")
    path = tmp_path / "t.yaml"
    text = TEXT.replace(", partitions: 2", ", engine: rocksdb").replace("[system]", "[mariadb-11.4.5]")
    path.write_text(text % (3000, 1.0, ", requesters: [1]"))
    experiment = load_experiment(path)
    build = catalogue.install("mariadb-11.4.5", project())
    with pytest.raises(BuildNotFound, match=r"has no plugin ha_rocksdb\.so, which `engine: rocksdb` needs") as caught:
        fit_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), Workspace(tmp_path))
    assert "\n" not in caught.value.what
