"""Cells on Dask workers: real schedulers and workers, processes of their own, on the loopback; most cells are fake."""

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest

from ibench_lib.base.tether import tethered
from ibench_lib.capture.host_facts import host_class, host_class_here
from ibench_lib.client.mysql.connection_core import core_state
from ibench_lib.errors import CellsFailed, IbenchError, Interrupted
from ibench_lib.paths import Workspace
from ibench_lib.runner.events import EventLog, event_log
from ibench_lib.runner.hosts import crew
from ibench_lib.runner.ledger import Ledger
from ibench_lib.runner.observer import ObserverList
from ibench_lib.runner.plan import manifests
from ibench_lib.store.transfer import open_store
from ibench_lib.store.verify import verify
from tests.places import ROOT
from tests.runner.hosts.lab import COMMAND, TEXT, TWICE, Lab, Telling, sweep, write
from tests.waiting import PATIENCE_S


@pytest.mark.long
@pytest.mark.fault("F37")
def test_a_worker_killed_in_mid_cell_costs_no_cell_and_none_is_run_twice(lab: Lab, workspace: Workspace) -> None:
    lab.worker("one")
    victim = lab.worker("two", FAKE_CELL_S="600")
    killed: list[int] = []

    def kill() -> None:
        killed.append(lab.measuring("two"))
        victim.kill()

    watcher = Telling("two", kill)
    observer = ObserverList([watcher, EventLog(workspace, "many")])
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


@pytest.mark.long
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
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    (manifest,) = manifests(workspace)
    assert "many: 1 cell, 0 already complete\n" in done.stdout, "what others will take is not known here"
    assert "1/1 system.tiny, tiny, repeat 1 on one\n" in done.stdout
    assert f"complete: {manifest.run_id} on one\n" in done.stdout and "many: 1 new run, " in done.stdout
    run_dir = workspace.run_dir(manifest.run_id)
    assert verify(run_dir) == []
    assert (run_dir / "server.log").is_file() and "skip_log_bin" in (run_dir / "my.cnf").read_text()
    assert manifest.host["host_class"] == host_class(manifest.host) == host_class_here(workspace.sandboxes)
    assert manifest.versions["client core"] == core_state().name
    assert manifest.experiment.text == text
    there = lab.workspace("one")
    assert [path.name for path in there.runs.iterdir()] == [manifest.run_id]
    assert list(there.sandboxes.iterdir()) == []


@pytest.mark.long
def test_runs_can_be_left_in_a_store_and_count_as_done_there(lab: Lab, workspace: Workspace, tmp_path: Path) -> None:
    lab.worker("one")
    shared = f"file://{tmp_path / 'shared'}"
    made = sweep(lab, workspace, store=shared).made
    assert open_store(shared).run_ids() == sorted(manifest.run_id for manifest in made)
    assert len(made) == 2 and manifests(workspace) == []
    again = sweep(lab, workspace, store=shared)
    assert (len(again.made), len(again.skipped)) == (0, 2)


@pytest.mark.long
def test_a_failed_cell_is_told_and_its_run_comes_back(lab: Lab, workspace: Workspace) -> None:
    lab.worker("one")
    text = TEXT.replace("name: base", "name: broken")
    with pytest.raises(CellsFailed, match="1 of 2 cells failed; 1 new run") as caught:
        sweep(lab, workspace, text=text)
    assert re.fullmatch(r"a\.broken, mine, repeat 1: one: run \S+, step l\.i1: it is broken", caught.value.detail or "")
    assert Counter(run.status for run in manifests(workspace)) == {"complete": 1, "failed": 1}
    attempts = Ledger(workspace).attempts("many")
    assert {attempt.state: attempt.run_id is not None for attempt in attempts} == {"complete": True, "failed": True}


@pytest.mark.long
def test_ctrl_c_lets_cells_under_way_end_and_hands_out_no_more(lab: Lab, workspace: Workspace) -> None:
    lab.worker("one", FAKE_CELL_S="1")
    watcher = Telling("one", lambda: (lab.measuring("one"), os.kill(os.getpid(), signal.SIGINT)))
    with pytest.raises(Interrupted, match="stopped with 1 cell left"):
        sweep(lab, workspace, watcher)
    assert [run.status for run in manifests(workspace)] == ["complete"]
    assert [attempt.state for attempt in Ledger(workspace).attempts()] == ["complete"]


@pytest.mark.long
def test_a_worker_that_is_told_to_end_leaves_its_cell_to_others(lab: Lab, workspace: Workspace) -> None:
    lab.worker("one")
    stopped = lab.worker("two", FAKE_CELL_S="600")
    watcher = Telling("two", lambda: (lab.measuring("two"), stopped.terminate()))
    assert len(sweep(lab, workspace, watcher).made) == 2
    assert [name for _, name in watcher.lost] == ["two"]
    assert Counter(run.status for run in manifests(workspace)) == {"complete": 2}
    assert stopped.wait(PATIENCE_S) == 0
    states = Counter((attempt.state, attempt.host) for attempt in Ledger(workspace).attempts())
    assert states.pop(("complete", "one")) == 2
    assert set(states) in ({("lost", "two")}, {("interrupted", "two")}) and states.total() == 1


@pytest.mark.long
@pytest.mark.slow
def test_without_its_scheduler_it_ends_and_so_does_what_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, lab = Workspace(tmp_path), Lab(tmp_path / "lab")
    try:
        worker, pids = lab.worker("one", FAKE_CELL_S="600"), []

        def end() -> None:
            pids.append(lab.measuring("one"))
            monkeypatch.setattr(crew, "_CONNECT_S", 5.0)
            lab.processes[0].kill()

        watcher = Telling("one", end)
        with pytest.raises(IbenchError, match=r"the scheduler at tcp://127\.0\.0\.1:\d+ has disappeared"):
            sweep(lab, workspace, watcher)
        (attempt,) = Ledger(workspace).attempts()
        assert attempt.state == "lost" and "the scheduler" in str(attempt.error)
        assert watcher.lost == [], "nobody says that the worker died"
        assert worker.wait(PATIENCE_S) == 0
        assert not psutil.pid_exists(pids[0])
    finally:
        lab.close()


@pytest.mark.long
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


@pytest.mark.long
def test_what_a_killed_command_left_on_a_worker_does_not_come_twice(lab: Lab, workspace: Workspace) -> None:
    lab.worker("one", FAKE_CELL_S="1")
    loaded, place = (
        f"load_experiment(Path({str(write(workspace))!r}))",
        f"Workspace(Path({str(workspace.root)!r}))",
    )
    call = f"run_on_workers({loaded}, {place}, Observer(), {lab.address!r}, cell_process=FAKE)"
    code = f"from tests.runner.hosts.lab import *; {call}"
    command = subprocess.Popen(tethered([sys.executable, "-c", code]), cwd=ROOT)
    lab.measuring("one")
    command.kill()
    command.wait()
    assert len(sweep(lab, workspace).made) == 2
    assert Counter(run.status for run in manifests(workspace)) == {"complete": 2}
    assert len(manifests(lab.workspace("one"))) == 3, "the worker had finished its cell, and keeps it"
    assert Counter(attempt.state for attempt in Ledger(workspace).attempts()) == {"lost": 1, "complete": 2}
