"""Runs on a real server: what is captured is what happened, however the run ends."""

import os
import re
import signal
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import pytest

from ibench_lib.errors import (
    CaptureFailed,
    ExperimentError,
    Interrupted,
    LakeError,
    PostFailed,
    ServerLost,
)
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.publish.post import build_post
from ibench_lib.runner.cell import run_cell
from ibench_lib.runner.plan import plan_cell
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.servers.binary import facts_of
from ibench_lib.servers.build import Build
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from ibench_lib.store.recover import recover
from ibench_lib.store.verify import verify
from tests.faults import Disk, server_here
from tests.publish.posting import VALUES, params_file, unpacked, with_notebook
from tests.runner.cells import OTHERS, Watcher, experiment, nothing_left, rows, run, the_run
from tests.synthetic import answer

pytestmark = pytest.mark.lake
"""Processes that ran before the test: what other tests of the session share, such as a server or a browser."""


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
    assert max(length or 0 for length in lengths) > 0
    assert lengths.count(None) <= len(lengths) / 4, "a busy machine answers late now and then"
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
    assert all(one.missed <= max(1, one.samples / 4) and one.reason is None for one in collected.values()), (
        stored.collectors
    )
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
    assert b"* plotly.js " in page and b"history_list_length" in page and canary.encode() not in page
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
