"""Runs on a real server: what is captured is what happened, however the run ends."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from threading import Thread
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

from ibench_lib.errors import (
    CaptureFailed,
    ExperimentError,
    Interrupted,
    LakeError,
    PostFailed,
    ServerLost,
    WorkerFailed,
)
from ibench_lib.experiment.cells import LoadedExperiment, load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.publish.post import build_post
from ibench_lib.runner import one_run
from ibench_lib.runner.cell import run_cell
from ibench_lib.runner.events import StepProgress, step_progress
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.one_run import OneRun
from ibench_lib.runner.plan import plan_cell
from ibench_lib.runner.settle import Action
from ibench_lib.runner.step import WorkerState
from ibench_lib.servers.binary import facts_of
from ibench_lib.servers.build import Build
from ibench_lib.store import reader
from ibench_lib.store.manifest import Manifest, read_manifest
from ibench_lib.store.recover import recover
from ibench_lib.store.verify import verify
from ibench_lib.workloads.insert_benchmark import steps as steps_of
from ibench_lib.workloads.workload import Step
from tests.faults import Disk, Victim, server_here, survivors
from tests.publish.posting import VALUES, params_file, unpacked, with_notebook
from tests.synthetic import answer

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
"""Processes that ran before the test: what other tests of the session share, such as a server or a browser."""


@pytest.fixture(autouse=True)
def others() -> None:
    OTHERS.clear()
    OTHERS.update(child.pid for child in psutil.Process().children(recursive=True))


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


def tells_nothing(workspace: Workspace) -> bool:
    """No file of a run names the workspace that it was made in."""
    private = str(workspace.root).encode()
    return not [path for path in workspace.runs.rglob("*") if path.is_file() and private in path.read_bytes()]


@pytest.mark.timing
def test_four_steps_add_up(build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watcher = Watcher()
    manifest = run(experiment(tmp_path, monkeypatch), build, workspace, watcher)
    run_dir, stored = the_run(workspace)
    assert manifest.status == stored.status == "complete"
    assert watcher.ended == ["l.i0", "l.x", "l.i1", "qr100"]
    assert {"steps", "workers", "ops", "response_times", "probes", "table_counts", "server_samples"} <= {
        name.removesuffix(".parquet") for name in stored.files
    }
    steps = {row["step"]: row for row in rows(run_dir, "steps")}
    workers, ops = rows(run_dir, "workers"), rows(run_dir, "ops")
    counts = rows(run_dir, "table_counts")
    expected = {"pi1": 0, "pi2": 0}
    for name, step in steps.items():
        assert step["duration_s"] == pytest.approx(step["end_s"] - step["start_s"])
        for worker in (row for row in workers if row["step"] == name):
            mine = [row for row in ops if (row["step"], row["worker"]) == (name, worker["worker"])]
            assert [row["second"] for row in mine] == list(range(len(mine))), "every second has its row"
            for column in ("ops", "rows", "errors", "retries", "unknown"):
                assert sum(row[column] for row in mine) == worker[column]
            assert sum(sum(row["service_counts"]) for row in mine) == worker["ops"]
            table = f"pi{worker['client']}"
            expected[table] += {"inserter": 1, "deleter": -1}.get(worker["role"], 0) * worker["rows"]
        counted = {row["table_name"]: row["row_count"] for row in counts if row["step"] == name}
        assert counted == expected, f"COUNT(*) after {name} is what the clients had acknowledged"
    assert sum(worker["rows"] for worker in workers if worker["step"] == "l.i0") == 40_000
    inserted = sum(row["rows"] for row in workers if (row["step"], row["role"]) == ("qr100", "inserter"))
    # What is due when the step ends may not be sent any more; how exactly a rate is held, M7 shows.
    assert 0 < inserted <= 1.01 * 2 * 100 * steps["qr100"]["duration_s"]
    paced = [row for row in ops if row["step"] == "qr100" and row["operation"] == "insert" and row["ops"]]
    assert all(row["intended_max_us"] >= row["service_max_us"] for row in paced)
    queries = [row for row in workers if row["role"] == "querier"]
    assert all(row["ops"] > 0 and row["rows"] > 9.5 * row["ops"] for row in queries)
    probes = {(row["step"], row["client"]) for row in rows(run_dir, "probes") if row["probe"] == "get_min"}
    assert probes == {(step, client) for step in steps for client in (1, 2)}
    samples = rows(run_dir, "server_samples")
    lengths = [row["history_list_length"] for row in samples]
    assert None not in lengths and max(lengths) > 0
    moments = [row["t_s"] for row in samples]
    assert moments[0] < steps["l.i0"]["start_s"] + 1.5 and moments[-1] > steps["qr100"]["end_s"] - 1.5
    assert len({int(t) for t in moments}) == len(moments) >= moments[-1] - moments[0] - 1
    assert stored.server is not None and stored.server.variables["innodb_purge_batch_size"] == "1"
    assert stored.binary is not None and stored.binary.model_dump() == asdict(facts_of(Path(build.command[-1])))
    every_second = {"host_samples", "device_samples", "network_samples", "process_samples", "server_counters", "sizes"}
    assert every_second <= {name.removesuffix(".parquet") for name in stored.files}
    collected = {record.name: record for record in stored.collectors}
    assert {"host", "devices", "network", "process", "server_counters", "innodb_status", "processlist"} <= set(
        collected
    )
    counters = collected.pop("perf_counters")
    assert counters.reason is None or "perf" in counters.reason, "many machines have no counters"
    assert all(one.missed <= 1 and one.reason is None for one in collected.values()), stored.collectors
    assert all(one.samples > 0 and one.cpu_s > 0 for one in collected.values() if one.every_s == 1)
    sizes = {(row["step"], row["what"]): row["bytes"] for row in rows(run_dir, "sizes") if not row["name"]}
    assert 40_000 * 50 < sizes["l.i0", "database"] <= sizes["l.x", "database"] < sizes["l.x", "datadir"]
    assert stored.host["workbench_commit"]
    assert verify(run_dir) == []
    assert nothing_left(workspace)


@pytest.mark.long
@pytest.mark.fault("F1")
def test_f1_the_server_killed_in_second_12_keeps_every_finished_second_and_the_gap_is_named(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = "l.i0, l.x, {step: l.i1, rate: 1000}"
    loaded = experiment(tmp_path, monkeypatch, steps, l_i1_rows=10_000_000)
    with pytest.raises(ServerLost, match=r"step l\.i1: the server died"):
        run(loaded, build, workspace, Watcher("l.i1", 12.1, lambda _workers: server_here(OTHERS).kill()))
    run_dir, manifest = the_run(workspace)
    assert (manifest.status, manifest.failed_step) == ("failed", "l.i1")
    ops = [row for row in rows(run_dir, "ops") if row["step"] == "l.i1"]
    for worker in {row["worker"] for row in ops}:
        assert set(range(12)) <= {row["second"] for row in ops if row["worker"] == worker}
    failed = [row for row in rows(run_dir, "workers") if row["step"] == "l.i1"]
    assert len(failed) == 4
    unknown = sum(row["unknown"] for row in failed)
    assert 1 <= unknown <= 4
    assert {row["step"]: row["status"] for row in rows(run_dir, "steps")}["l.i1"] == "failed"
    assert verify(run_dir) == []
    gaps = answer(reader.lake(workspace), "gaps", experiment="tiny", steps=["l.i1"]).to_dicts()
    named = {row["problem"]: row["amount"] for row in gaps}
    assert "step failed" in named
    assert named["operations with unknown outcome"] == unknown
    assert tells_nothing(workspace)
    assert nothing_left(workspace)


@pytest.mark.long
@pytest.mark.fault("F6")
def test_f6_a_full_data_disk_is_called_that_and_the_servers_log_is_quoted(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_disk: Any
) -> None:
    disk = Disk(small_disk(workspace.sandboxes, "500m"))
    loaded = experiment(tmp_path, monkeypatch, l_i1_rows=1_000_000)
    with pytest.raises(ServerLost, match=r"step l\.i1: disk full: the server cannot write its data") as caught:
        run(loaded, build, workspace, Watcher("l.i1", 1.2, lambda _workers: disk.fill()))
    assert "No space left on device" in (caught.value.detail or "") or "is full" in (caught.value.detail or "")
    run_dir, manifest = the_run(workspace)
    assert (manifest.status, manifest.failed_step) == ("failed", "l.i1")
    assert verify(run_dir) == []
    assert {row["step"] for row in rows(run_dir, "ops")} == {"l.i0", "l.x", "l.i1"}
    disk.free()
    assert tells_nothing(workspace)
    assert nothing_left(workspace)


@pytest.mark.long
@pytest.mark.fault("F7")
def test_f7_a_full_disk_of_the_lake_stops_the_load_and_what_is_sealed_stays_valid(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_disk: Any
) -> None:
    disk = Disk(small_disk(workspace.runs, "100m"))
    filled_at: list[float] = []

    def fill_disk(_workers: list[WorkerState]) -> None:
        disk.fill()
        filled_at.append(time.monotonic())

    loaded = experiment(tmp_path, monkeypatch, l_i1_rows=1_000_000)
    watcher = Watcher("l.i1", 1.2, fill_disk)
    with pytest.raises(CaptureFailed, match=r"step l\.i1: capture cannot be written: the disk is full") as caught:
        run(loaded, build, workspace, watcher)
    assert watcher.last_progress - filled_at[0] <= 5.0
    assert "ibench runs recover" in (caught.value.hint or "")
    (run_dir,) = (path for path in workspace.runs.iterdir() if path != disk.filler)
    manifest = read_manifest(run_dir)
    assert (manifest.status, manifest.failed_step) == ("failed", "l.i1"), "the reserve had room for it"
    sealed = {"ops.1.parquet", "ops.2.parquet", "steps.1.parquet", "steps.2.parquet"}
    assert sealed <= set(manifest.files)
    before = reader.lake(workspace)
    assert reader.sql(before, "SELECT * FROM problems").is_empty()
    steps = reader.sql(before, "SELECT step, status FROM steps ORDER BY step_id").rows()
    assert steps == [("l.i0", "complete"), ("l.x", "complete"), ("l.i1", "failed")]
    disk.free()
    assert recover(run_dir).status == "failed"
    assert verify(run_dir) == []
    assert {row["step"] for row in rows(run_dir, "ops")} == {"l.i0", "l.x", "l.i1"}
    assert tells_nothing(workspace)
    assert nothing_left(workspace)


@pytest.mark.fault("F8")
def test_f8_too_little_space_is_refused_before_anything_is_made(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_disk: Any
) -> None:
    small_disk(workspace.sandboxes, "64m")
    with pytest.raises(ExperimentError, match=r"not enough space in .*sandboxes") as caught:
        run(experiment(tmp_path, monkeypatch), build, workspace, Watcher())
    needed, free = (
        int(number.replace(",", "")) for number in re.findall(r"([\d,]{6,}) (?:bytes|free)", str(caught.value))
    )
    assert needed > free and 60 << 20 < free <= 64 << 20
    assert list(workspace.sandboxes.iterdir()) == []
    assert not workspace.runs.exists()


@pytest.mark.long
@pytest.mark.fault("F3")
def test_a_killed_worker_fails_the_step_and_is_named(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill_worker(workers: list[WorkerState]) -> None:
        Victim(workers[3].process.pid).kill()

    loaded = experiment(tmp_path, monkeypatch, l_i1_rows=10_000_000)
    with pytest.raises(WorkerFailed, match="client 2 deleter: died: killed by SIGKILL"):
        run(loaded, build, workspace, Watcher("l.i1", 1.2, kill_worker))
    run_dir, manifest = the_run(workspace)
    assert (manifest.status, manifest.failed_step) == ("failed", "l.i1")
    assert "client 2 deleter" in (manifest.error or "")
    status = {row["worker"]: row["status"] for row in rows(run_dir, "workers") if row["step"] == "l.i1"}
    assert status[3] == "failed" and len(status) == 4
    assert nothing_left(workspace)


class Silence(Watcher):
    """Stops something for five seconds while the runner goes on, and keeps what was said meanwhile."""

    def __init__(self, whom: Callable[[list[WorkerState]], Victim]) -> None:
        super().__init__("qr100", 2.5, lambda workers: Thread(target=whom(workers).stop_for, args=[5]).start())
        self.silent: list[StepProgress] = []
        self.warned: list[str] = []

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None:
        super().step_progress(step, workers, elapsed_s)
        found = step_progress(step, workers, elapsed_s)
        if step.name == "qr100" and found.silent_s + found.silent_clients:
            self.silent.append(found)

    def step_warned(self, step: Step, said: str) -> None:
        self.warned.append(said)


@pytest.mark.long
@pytest.mark.fault("F4")
@pytest.mark.parametrize("whom", ["the server", "client 1 querier"])
def test_who_stands_still_is_said_during_the_step_and_in_a_warning_of_the_run(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whom: str
) -> None:
    loaded = experiment(tmp_path, monkeypatch, "l.i0, l.x, qr100", seconds=12)

    def victim(workers: list[WorkerState]) -> Victim:
        if whom == "the server":
            return server_here(OTHERS)
        return next(Victim(state.process.pid) for state in workers if state.name == whom)

    watcher = Silence(victim)
    run(loaded, build, workspace, watcher)
    _, manifest = the_run(workspace)
    assert manifest.status == "complete"
    assert watcher.warned and set(watcher.warned) <= set(manifest.warnings)
    (said,) = [said for said in watcher.warned if "was stopped meanwhile" in said]
    form = r"step qr100: no answer to (.*) for (\d+) s, in seconds (\d+) to (\d+); the process of (.*) was .*"
    found = re.fullmatch(form, said)
    assert found is not None, said
    assert found[1] == ("any client" if whom == "the server" else whom) and found[5] == whom
    assert int(found[2]) >= 3 and 1 <= int(found[3]) <= 5
    assert watcher.silent, "the progress line said so, too"
    if whom == "the server":
        assert any(each.silent_s for each in watcher.silent)
        assert all(each.rates == {} for each in watcher.silent if each.silent_s)


@pytest.mark.long
@pytest.mark.fault("F4")
def test_a_server_stopped_for_a_while_shows_in_the_latencies_and_the_run_passes(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = experiment(tmp_path, monkeypatch, "l.i0, l.x, qr100", seconds=6)
    run(loaded, build, workspace, Watcher("qr100", 1.5, lambda _workers: server_here(OTHERS).stop_for(2)))
    run_dir, manifest = the_run(workspace)
    assert manifest.status == "complete"
    ops = [row for row in rows(run_dir, "ops") if row["step"] == "qr100"]
    queries = [row for row in ops if row["operation"] == "range_query"]
    assert max(row["service_max_us"] or 0 for row in queries) >= 1_900_000
    assert any(row["ops"] == 0 for row in queries), "the stalled seconds are rows of zeros"
    inserts = [row for row in ops if row["operation"] == "insert"]
    assert sum(row["ops"] for row in inserts) == 2 * 6 * 2, "the paced inserts have been caught up"
    assert max(row["intended_max_us"] or 0 for row in inserts) >= 1_400_000


def test_ctrl_c_stops_everything_and_keeps_what_was_captured(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_workers: list[WorkerState]) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    loaded = experiment(tmp_path, monkeypatch, l_i1_rows=10_000_000)
    with pytest.raises(Interrupted, match=r"interrupted in step l\.i1 of Insert Benchmark\n"):
        run(loaded, build, workspace, Watcher("l.i1", 2.2, interrupt))
    run_dir, manifest = the_run(workspace)
    assert (manifest.status, manifest.failed_step) == ("interrupted", "l.i1")
    steps = {row["step"]: row["status"] for row in rows(run_dir, "steps")}
    assert steps == {"l.i0": "complete", "l.x": "complete", "l.i1": "interrupted"}
    ops = [row for row in rows(run_dir, "ops") if row["step"] == "l.i1"]
    assert {0, 1} <= {row["second"] for row in ops}
    unknown = [row["unknown"] for row in rows(run_dir, "workers") if row["step"] == "l.i1"]
    assert unknown == [0, 0, 0, 0], "operations in flight were answered and counted"
    assert tells_nothing(workspace)
    assert nothing_left(workspace)
    assert signal.getsignal(signal.SIGINT) is handler, "as it was before"


@pytest.mark.long
@pytest.mark.fault("F26")
def test_f26_no_password_in_anything_that_a_run_and_its_posts_leave(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = "c4n4ry" * 5
    monkeypatch.setattr("ibench_lib.servers.sandbox.secrets.token_hex", lambda _size: canary)
    seen: list[str] = []
    journaled: list[bytes] = []

    def look(_workers: list[WorkerState]) -> None:
        journaled.extend(path.read_bytes() for path in workspace.runs.rglob("*") if path.is_file())
        me = psutil.Process()
        for process in [me, *me.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):  # perf and its like come and go
                seen.append(" ".join(process.cmdline()))
                seen.append(repr(process.environ()))

    more = "capture: {waits: true, profile: {seconds: 1, every_s: 2}}"
    loaded = experiment(tmp_path, monkeypatch, "l.i0, l.x, qr100", more=more)
    (tmp_path / "configs" / "cy10a.cnf").write_text(
        "[mysqld]\ninnodb_buffer_pool_size=64M\nskip_log_bin\nperformance_schema=ON\n"
    )
    monkeypatch.setattr("ibench_lib.families.mysql.collectors.processlist.Processlist.every_s", 1)
    monkeypatch.setattr("ibench_lib.families.mysql.collectors.innodb_status.InnodbStatus.every_s", 1)
    monkeypatch.setattr("ibench_lib.families.mysql.collectors.waits.Waits.every_s", 1)
    manifest = run(loaded, build, workspace, Watcher("qr100", 2.5, look))
    assert {f"{name}.parquet" for name in ("processlist", "innodb_status", "waits")} <= set(manifest.files)
    assert len(journaled) > 10
    assert not any(canary.encode() in content for content in journaled)
    assert len(seen) > 10
    assert not any(canary in text for text in seen)
    # Posts of it, one that is made and one that fails, by somebody with secrets in the environment.
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", canary)
    place = with_notebook(workspace.root)
    chosen = {**VALUES["parameters"], "experiment": loaded.name}
    page = unpacked(build_post(params_file(place, parameters=chosen), place))
    assert b"plotly.js v" in page and b"history_list_length" in page and canary.encode() not in page
    with pytest.raises(PostFailed):
        build_post(params_file(place, slug="failed", parameters={**chosen, "base": "nobody"}), place)
    assert place.failed_notebook("failed").is_file()
    files = [path for path in workspace.data.rglob("*") if path.is_file()]
    assert len(files) >= 8
    assert not [path for path in files if canary.encode() in path.read_bytes()]


@pytest.mark.fault("F32")
def test_f32_a_second_run_with_the_same_id_is_refused_at_once(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = experiment(tmp_path, monkeypatch, steps="l.i0")
    monkeypatch.setattr("ibench_lib.runner.cell.make_run_id", lambda *_: "20261121T000000Z-the-same")
    first = run(loaded, build, workspace, Watcher())
    before = {path: path.read_bytes() for path in workspace.run_dir(first.run_id).iterdir()}
    with pytest.raises(LakeError, match="already exists"):
        run(loaded, build, workspace, Watcher())
    assert {path: path.read_bytes() for path in workspace.run_dir(first.run_id).iterdir()} == before
    assert nothing_left(workspace)


class Warned(Watcher):
    """Keeps what each step warned of."""

    def __init__(self) -> None:
        super().__init__()
        self.warned: list[str] = []

    def step_warned(self, step: Step, said: str) -> None:
        self.warned.append(said)


@pytest.mark.long
@pytest.mark.fault("F4")
def test_every_settled_step_is_on_record_and_a_runner_that_is_stopped_meanwhile(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, settled = steps_of.plan, []

    def settle(*_: Any) -> list[Action]:
        settled.append(1)
        if len(settled) == 2:  # before l.i1
            pid = os.getpid()
            subprocess.run(["sh", "-c", f"kill -STOP {pid}; sleep 4; kill -CONT {pid}"], check=True)
        return [Action("ANALYZE TABLE pi1", 0.1, "OK")]

    monkeypatch.setattr(
        steps_of, "plan", lambda *given: [replace(step, settle_before=step.form != "l.i0") for step in plan(*given)]
    )
    monkeypatch.setattr(one_run, "settle", settle)
    watcher = Warned()
    manifest = run(experiment(tmp_path, monkeypatch, steps="l.i0, l.x, l.i1"), build, workspace, watcher)
    assert [(action.before_step, action.action) for action in manifest.settle] == [
        ("l.x", "ANALYZE TABLE pi1"),
        ("l.i1", "ANALYZE TABLE pi1"),
    ]
    sealed = the_run(workspace)[1]
    assert sealed.settle == manifest.settle
    form = r"the runner stood still for \d+ s, before the load of step l\.i1: it was stopped, or .*"
    (said,) = [said for said in sealed.warnings if re.fullmatch(form, said)]
    assert said in watcher.warned


def test_cells_of_a_sweep_have_their_clients_and_the_server_has_their_values(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = experiment(tmp_path, monkeypatch, "l.i0", more="vary: {innodb_io_capacity: [150, 170]}")
    path = tmp_path / "tiny.yaml"
    path.write_text(path.read_text().replace("clients: 2", "clients: [1, 3]"))
    loaded = load_experiment(path)
    found = {}
    for cell in loaded.cells()[1:3]:
        manifest = run_cell(loaded, plan_cell(loaded, cell, build), workspace, Watcher())
        assert manifest.status == "complete" and manifest.server is not None
        done = {row["client"] for row in rows(workspace.run_dir(manifest.run_id), "workers")}
        found[manifest.cell.setup, manifest.cell.dbms] = (
            manifest.server.variables["innodb_io_capacity"],
            manifest.workload["clients"],
            len(done),
        )
    assert list(found.values()) == [("170", 1, 1), ("150", 3, 3)]
    assert [(setup[-12:], dbms.partition(".")[2]) for setup, dbms in found] == [
        ("-clients-001", "tiny-innodb_io_capacity-170"),
        ("-clients-003", "tiny-innodb_io_capacity-150"),
    ]


@pytest.mark.slow
def test_a_server_that_dies_between_a_step_and_its_checks_fails_the_run_by_name(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seal_step = OneRun._seal_step

    def seal_and_kill(run: OneRun, step: Step) -> None:
        seal_step(run, step)
        server = server_here(OTHERS)
        server.kill()
        assert survivors([server.process]) == []

    monkeypatch.setattr(OneRun, "_seal_step", seal_and_kill)
    with pytest.raises(ServerLost, match=r"step l\.i0: check failed: .*; the server has died"):
        run(experiment(tmp_path, monkeypatch, "l.i0, l.x"), build, workspace, Watcher())
    _, manifest = the_run(workspace)
    assert (manifest.status, manifest.failed_step) == ("failed", "l.i0")
    assert "the server has died" in (manifest.error or "")
    assert nothing_left(workspace)
