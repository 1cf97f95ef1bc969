"""Cells on Dask workers: real schedulers and workers, processes of their own, on the loopback; most cells are fake."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from ibench_lib.base.tether import tethered
from ibench_lib.capture.host_facts import host_class, host_class_here
from ibench_lib.errors import CellsFailed, IbenchError, Interrupted, LakeError, UsageError
from ibench_lib.experiment.cells import Cell, load_experiment
from ibench_lib.lake.manifest import FILE_NAME, read_manifest
from ibench_lib.lake.store import open_store, take_in
from ibench_lib.lake.verify import verify
from ibench_lib.paths import PACKAGE, Workspace
from ibench_lib.run.events import EventLog, event_log
from ibench_lib.run.hosts import crew
from ibench_lib.run.hosts import worker as remote_worker
from ibench_lib.run.hosts.shipment import code_files, pack, unpack
from ibench_lib.run.hosts.sweep import run_on_workers
from ibench_lib.run.ledger import Ledger
from ibench_lib.run.observer import Both, Observer
from ibench_lib.run.plan import manifests
from ibench_lib.run.sweep import SweepResult
from ibench_lib.servers.flavours.flavour import find
from tests.places import ROOT
from tests.synthetic import Run, write_runs

FAKE = "tests.fakes.cell_process"
COMMAND = "from ibench_lib.cli.main import main; main()"
TEXT = """\
title: cells for others
builds: [a]
configs:
  - {name: base, fragments: [mine]}
  - {name: whole, my_cnf: whole/my.cnf}
configs_folder: own
setups:
  - {name: mine, l_i0_rows: 1000, l_i1_rows: 1000, l_i2_rows: 100, query_seconds: 2}
repeats: 1
workload: {benchmark: insert_benchmark, clients: 2, steps: [l.i0, l.x, l.i1, qr100]}
"""
TWICE = TEXT.replace("repeats: 1", "repeats: 2")


def until(found: Callable[[], Any], seconds: float = 60) -> Any:
    """What `found` gives once it is not None."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if (answer := found()) is not None:
            return answer
        time.sleep(0.05)
    raise AssertionError("it never came")


class Lab:
    """A scheduler and workers, each a process, in a folder of its own; nothing of them is left at the end."""

    def __init__(self, root: Path, address: str = "") -> None:
        root.mkdir()
        self.root = root
        self.processes: list[subprocess.Popen[bytes]] = []
        self.address = address or self.scheduler()

    def scheduler(self) -> str:
        """Start one. Its address."""
        file = self.root / "scheduler.json"
        arguments = ["--no-dashboard", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)]
        self._start("scheduler", ["-m", "distributed.cli.dask_scheduler", *arguments], {})
        written = until(lambda: file.read_text() if file.is_file() and file.read_text().endswith("}") else None)
        return str(json.loads(written)["address"])

    def worker(self, name: str, code: Path = ROOT, **environment: str) -> subprocess.Popen[bytes]:
        """A worker called `name`, whose workspace is the folder of that name."""
        (self.root / name).mkdir()
        home = {"IBENCH_HOME": str(self.root / name), "PYTHONPATH": f"{code}:{ROOT}", **environment}
        process = self._start(name, ["-c", COMMAND, "worker", self.address, "--name", name], home)
        until(lambda: "Registered to" in (self.root / f"{name}.log").read_text() or None)
        return process

    def workspace(self, name: str) -> Workspace:
        return Workspace(self.root / name)

    def measuring(self, name: str) -> int:
        """The process that measures a cell on that worker, once there is one."""
        file = self.root / name / "measuring"
        return int(until(lambda: (file.is_file() and file.read_text()) or None))

    def close(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(30)
        children = psutil.Process().children(recursive=True)
        assert [child for child in children if "cell_process" in " ".join(child.cmdline())] == []

    def _start(self, name: str, arguments: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        with open(self.root / f"{name}.log", "wb") as log:
            process = subprocess.Popen(
                tethered([sys.executable, *arguments]),
                stdout=log,
                stderr=log,
                cwd=self.root,
                env={**os.environ, **environment},
            )
        self.processes.append(process)
        return process


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one for all tests: its workers are another's each time."""
    lab = Lab(tmp_path_factory.mktemp("scheduler") / "lab")
    yield lab.address
    lab.close()


@pytest.fixture
def lab(tmp_path: Path, scheduler: str) -> Iterator[Lab]:
    lab = Lab(tmp_path / "lab", scheduler)
    yield lab
    lab.close()


def write(workspace: Workspace, text: str = TEXT) -> Path:
    root = workspace.root
    (root / "own").mkdir(exist_ok=True)
    (root / "whole").mkdir(exist_ok=True)
    (root / "own" / "mine.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=64M\n!include more.inc\n")
    (root / "own" / "more.inc").write_text("[mysqld]\nskip_log_bin\n")
    (root / "whole" / "my.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=32M\n!includedir conf.d\n")
    (root / "whole" / "conf.d").mkdir(exist_ok=True)
    (root / "whole" / "conf.d" / "x.cnf").write_text("[mysqld]\ninnodb_purge_threads=1\n")
    path = root / "many.yaml"
    path.write_text(text)
    return path


def sweep(
    lab: Lab, workspace: Workspace, observer: Any = None, text: str = TEXT, cell_process: str = FAKE, **options: Any
) -> SweepResult:
    loaded = load_experiment(write(workspace, text))
    options = {"wait_s": 60, **options}
    return run_on_workers(loaded, workspace, observer or Observer(), lab.address, cell_process=cell_process, **options)


class Telling(Observer):
    """Keeps what it is told; does `act` when a worker gets its first cell."""

    def __init__(self, worker: str | None = None, act: Any = None) -> None:
        self.begun: list[tuple[str, str]] = []
        self.lost: list[tuple[str, str]] = []
        self.refused: list[tuple[str, str]] = []
        self._worker, self._act = worker, act

    def cell_begins(self, number: int, of: int, cell: Cell, worker: str | None = None) -> None:
        self.begun.append((str(cell), str(worker)))
        if worker == self._worker and self._act is not None:
            act, self._act = self._act, None
            threading.Thread(target=act, daemon=True).start()

    def cell_lost(self, cell: Cell, worker: str) -> None:
        self.lost.append((str(cell), worker))

    def worker_refused(self, worker: str, reason: str) -> None:
        self.refused.append((worker, reason))


def test_a_worker_killed_in_mid_cell_costs_no_cell_and_none_is_run_twice(lab: Lab, workspace: Workspace) -> None:
    lab.worker("one")
    victim = lab.worker("two", FAKE_CELL_S="600")
    killed: list[int] = []

    def kill() -> None:
        killed.append(lab.measuring("two"))
        victim.kill()

    watcher = Telling("two", kill)
    observer = Both([watcher, EventLog(workspace, "many")])
    result = sweep(lab, workspace, observer, TWICE)
    assert len(result.made) == 4 and killed
    complete = Counter(run.cell.fingerprint for run in manifests(workspace) if run.status == "complete")
    assert len(complete) == 4 and set(complete.values()) == {1}
    assert {run.status for run in manifests(workspace)} == {"complete"}
    ((cell, name),) = watcher.lost
    assert name == "two"
    assert Counter(begun for begun, _ in watcher.begun)[cell] == 2
    attempts = Ledger(workspace).attempts("many")
    assert Counter((attempt.state, attempt.host) for attempt in attempts) == {
        ("complete", "one"): 4,
        ("lost", "two"): 1,
    }
    assert not psutil.pid_exists(killed[0]), "what measured died with its worker"
    log = event_log(workspace, "many").read_text()
    assert log.count('"event": "cell_lost"') == 1 and '"worker": "one"' in log
    again = sweep(lab, workspace, text=TWICE)
    assert (len(again.made), len(again.skipped)) == (0, 4)


def test_a_real_run_comes_back_whole(lab: Lab, workspace: Workspace, build: Any) -> None:
    text = """\
title: a tiny run
builds: [system]
configs: [{name: tiny, fragments: [mine]}]
configs_folder: own
setups: [{name: tiny, l_i0_rows: 20000, l_i1_rows: 10000, l_i2_rows: 1000, query_seconds: 2}]
scale: 1
workload: {benchmark: insert_benchmark, clients: 2, steps: [l.i0, l.x, qr100]}
"""
    lab.worker("one")
    command = [sys.executable, "-c", COMMAND, "run", str(write(workspace, text)), "--scheduler", lab.address]
    environment = {**os.environ, "IBENCH_HOME": str(workspace.root), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    (manifest,) = manifests(workspace)
    assert "many: 1 cell, 0 already done\n" in done.stdout, "what others will take is not known here"
    assert "1/1 system.tiny, tiny, repeat 1 on one\n" in done.stdout
    assert f"complete: {manifest.run_id} on one\n" in done.stdout and "many: 1 run made" in done.stdout
    run_dir = workspace.run_dir(manifest.run_id)
    assert verify(run_dir) == []
    assert (run_dir / "server.log").is_file() and "skip_log_bin" in (run_dir / "my.cnf").read_text()
    assert manifest.host["host_class"] == host_class(manifest.host) == host_class_here(workspace.sandboxes)
    assert manifest.experiment.text == text
    there = lab.workspace("one")
    assert [path.name for path in there.runs.iterdir()] == [manifest.run_id]
    assert list(there.sandboxes.iterdir()) == []


def test_hosts_of_different_classes_are_mixed_only_when_told_to(lab: Lab, workspace: Workspace) -> None:
    big = lab.worker("big", FAKE_CPU="Big 9000")
    lab.worker("small", FAKE_CPU="Small 1")
    watcher = Telling()
    assert len(sweep(lab, workspace, watcher).made) == 2
    ((name, reason),) = watcher.refused
    assert name == "small" and "Small 1" in reason and "Big 9000" in reason
    assert {run.host["cpu_model"] for run in manifests(workspace)} == {"Big 9000"}
    big.terminate()
    big.wait(30)
    with pytest.raises(
        UsageError,
        match=r"no worker has a suitable host: small: it is Small 1.* "
        "made on Big 9000",
    ) as caught:
        sweep(lab, workspace, text=TWICE)
    assert "--any-host" in (caught.value.hint or "")
    assert len(sweep(lab, workspace, text=TWICE, any_host=True).made) == 2
    assert {run.host["cpu_model"] for run in manifests(workspace)} == {"Big 9000", "Small 1"}


def test_other_code_and_another_build_under_the_label_are_refused(
    lab: Lab, workspace: Workspace, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "ibench_lib", tmp_path / "other" / "ibench_lib")
    with open(tmp_path / "other" / "ibench_lib" / "step.py", "a") as file:
        file.write("# changed\n")
    lab.worker("other", code=tmp_path / "other")
    with pytest.raises(UsageError, match=r"no worker of .* other: it runs a different version of ibench, .*; this is "):
        sweep(lab, workspace)
    lab.worker("one")
    lab.worker("two", FAKE_VERSION="10.11.20-MariaDB")
    watcher = Telling()
    assert len(sweep(lab, workspace, watcher).made) == 2
    assert {name for _, name in watcher.begun} == {"one"}
    assert dict(watcher.refused)["two"] == "build a is 10.11.20-MariaDB there, and 10.11.19-MariaDB on one"
    assert "a different version of ibench" in dict(watcher.refused)["other"]


def test_runs_can_be_left_in_a_store_and_count_as_done_there(lab: Lab, workspace: Workspace, tmp_path: Path) -> None:
    lab.worker("one")
    shared = f"file://{tmp_path / 'shared'}"
    made = sweep(lab, workspace, store=shared).made
    assert open_store(shared).run_ids() == sorted(manifest.run_id for manifest in made)
    assert len(made) == 2 and manifests(workspace) == []
    again = sweep(lab, workspace, store=shared)
    assert (len(again.made), len(again.skipped)) == (0, 2)


def test_a_failed_cell_is_told_and_its_run_comes_back(lab: Lab, workspace: Workspace) -> None:
    lab.worker("one")
    text = TEXT.replace("name: base", "name: broken")
    with pytest.raises(CellsFailed, match="1 of 2 cells failed; 1 run made") as caught:
        sweep(lab, workspace, text=text)
    assert re.fullmatch(r"a\.broken, mine, repeat 1: one: run \S+, step l\.i1: it is broken", caught.value.detail or "")
    assert Counter(run.status for run in manifests(workspace)) == {"complete": 1, "failed": 1}
    attempts = Ledger(workspace).attempts("many")
    assert {attempt.state: attempt.run_id is not None for attempt in attempts} == {"complete": True, "failed": True}


def test_ctrl_c_lets_cells_under_way_end_and_hands_out_no_more(lab: Lab, workspace: Workspace) -> None:
    lab.worker("one", FAKE_CELL_S="1")
    watcher = Telling("one", lambda: (lab.measuring("one"), os.kill(os.getpid(), signal.SIGINT)))
    with pytest.raises(Interrupted, match="stopped with 1 cell left"):
        sweep(lab, workspace, watcher)
    assert [run.status for run in manifests(workspace)] == ["complete"]
    assert [attempt.state for attempt in Ledger(workspace).attempts()] == ["complete"]


def test_a_worker_that_is_told_to_end_leaves_its_cell_to_others(lab: Lab, workspace: Workspace) -> None:
    lab.worker("one")
    stopped = lab.worker("two", FAKE_CELL_S="600")
    watcher = Telling("two", lambda: (lab.measuring("two"), stopped.terminate()))
    assert len(sweep(lab, workspace, watcher).made) == 2
    assert [name for _, name in watcher.lost] == ["two"]
    assert Counter(run.status for run in manifests(workspace)) == {"complete": 2}
    assert stopped.wait(30) == 0
    states = Counter((attempt.state, attempt.host) for attempt in Ledger(workspace).attempts())
    assert states.pop(("complete", "one")) == 2
    assert set(states) in ({("lost", "two")}, {("interrupted", "two")}) and states.total() == 1


def test_without_its_scheduler_it_ends_and_so_does_what_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "_CONNECT_S", 5.0)
    workspace, lab = Workspace(tmp_path), Lab(tmp_path / "lab")
    try:
        worker, pids = lab.worker("one", FAKE_CELL_S="600"), []

        def end() -> None:
            pids.append(lab.measuring("one"))
            lab.processes[0].kill()

        watcher = Telling("one", end)
        with pytest.raises(IbenchError, match=r"the scheduler at tcp://127\.0\.0\.1:\d+ is gone"):
            sweep(lab, workspace, watcher)
        (attempt,) = Ledger(workspace).attempts()
        assert attempt.state == "lost" and "the scheduler" in str(attempt.error)
        assert watcher.lost == [], "nobody says that the worker died"
        assert worker.wait(60) == 0
        assert not psutil.pid_exists(pids[0])
    finally:
        lab.close()


def test_a_signal_ends_the_cell_on_the_worker(lab: Lab, workspace: Workspace) -> None:
    lab.worker("one", FAKE_CELL_S="600")
    pids: list[int] = []

    def end() -> None:
        pids.append(lab.measuring("one"))
        os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted, match="interrupted, 0 runs made"):
        sweep(lab, workspace, Telling("one", end))
    assert pids and not psutil.pid_exists(pids[0])
    assert [attempt.state for attempt in Ledger(workspace).attempts()] == ["interrupted"]


def test_without_a_worker_or_a_scheduler_it_says_so(
    lab: Lab, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "_CONNECT_S", 1.0)
    loaded = load_experiment(write(workspace))
    with pytest.raises(UsageError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1: "):
        run_on_workers(loaded, workspace, Observer(), "tcp://127.0.0.1:1")
    with pytest.raises(UsageError, match=r"no worker of tcp://127\.0\.0\.1:"):
        sweep(lab, workspace, wait_s=1)


def test_a_worker_in_the_same_workspace_is_refused(lab: Lab) -> None:
    lab.worker("one")
    with pytest.raises(UsageError, match=r"one: an experiment is running in its workspace"):
        sweep(lab, lab.workspace("one"))


def test_what_a_killed_command_left_on_a_worker_does_not_come_twice(lab: Lab, workspace: Workspace) -> None:
    lab.worker("one", FAKE_CELL_S="1")
    loaded, place = (
        f"load_experiment(Path({str(write(workspace))!r}))",
        f"Workspace(Path({str(workspace.root)!r}))",
    )
    call = f"run_on_workers({loaded}, {place}, Observer(), {lab.address!r}, cell_process=FAKE)"
    code = f"from tests.run.hosts.test_sweep import *; {call}"
    command = subprocess.Popen(tethered([sys.executable, "-c", code]), cwd=ROOT)
    lab.measuring("one")
    command.kill()
    command.wait()
    assert len(sweep(lab, workspace).made) == 2
    assert Counter(run.status for run in manifests(workspace)) == {"complete": 2}
    assert len(manifests(lab.workspace("one"))) == 3, "the worker had finished its cell, and keeps it"
    assert Counter(attempt.state for attempt in Ledger(workspace).attempts()) == {"lost": 1, "complete": 2}


def test_a_restarted_worker_does_not_run_what_was_meant_for_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("distributed.get_worker", lambda: SimpleNamespace(id="new"))
    assert remote_worker.ask("no_such_module", "{}", "old") == {"worker": "new", "not_me": True}
    answer = remote_worker.ask("no_such_module", "{}", "new")
    assert "No module named no_such_module" in answer["error"]["what"] and answer["error"]["kind"] == "RunFailed"


def test_a_cell_process_ended_from_outside_has_not_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ended.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("distributed.get_worker", lambda: SimpleNamespace(id="here"))
    error = remote_worker.ask("ended", "{}", None)["error"]
    assert error["kind"] == "Interrupted" and "signal 15" in error["what"]


def test_without_dask_one_line_says_what_to_install(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match="Dask is not installed") as caught:
        run_on_workers(load_experiment(write(workspace)), workspace, Observer(), "tcp://127.0.0.1:1")
    assert "pip install 'ibench[dask]'" in (caught.value.hint or "")


def test_what_comes_back_changed_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    run = Run()
    write_runs(workspace, run)
    run_dir, here = workspace.run_dir(run.run_id), Workspace(tmp_path / "here")
    files = {path.name: path.read_bytes() for path in run_dir.iterdir()}
    manifest = read_manifest(run_dir)
    bad = {**files, "ops.parquet": files["ops.parquet"][:-1] + b"x"}
    with pytest.raises(LakeError, match=r"ops\.parquet is not what its manifest vouches for"):
        take_in(manifest, bad, bad.__getitem__, here, "one")
    assert list(here.runs.iterdir()) == []
    assert take_in(manifest, files, files.__getitem__, here, "one") is True
    assert verify(here.run_dir(run.run_id)) == [] and FILE_NAME in files


def test_an_experiment_travels_with_the_files_that_it_names(workspace: Workspace, tmp_path: Path) -> None:
    here = load_experiment(write(workspace))
    (tmp_path / "there").mkdir()
    there = unpack(pack(here), tmp_path / "there")
    for mine, theirs in zip(here.cells(), there.cells(), strict=True):
        config = here.server_config(mine, find("mariadb").rules((10, 11, 19)))
        assert config.render() == there.server_config(theirs, find("mariadb").rules((10, 11, 19))).render()
        assert here.fingerprint(mine, "x", config) == there.fingerprint(theirs, "x", config)


def test_the_identity_of_the_code_covers_the_whole_package() -> None:
    covered = {path.relative_to(PACKAGE).as_posix() for path in code_files()}
    there = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")}
    assert there <= covered and "lake/writer.py" in covered
    assert any(name.endswith(".sql") for name in covered) and any(name.endswith(".cnf") for name in covered)
