"""A step whose workers are killed or stand still."""

import re
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from ibench_lib.errors import (
    WorkerFailed,
)
from ibench_lib.paths import Workspace
from ibench_lib.runner.events import StepProgress, step_progress
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.servers.build import Build
from ibench_lib.workloads.workload import Step
from tests.faults import Victim, server_here
from tests.runner.cells import OTHERS, Watcher, experiment, nothing_left, rows, run, the_run


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
