"""What a run does between its steps: it settles the server, and checks what the step has left."""

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.errors import (
    ServerLost,
)
from ibench_lib.paths import Workspace
from ibench_lib.runner import one_run
from ibench_lib.runner.one_run import OneRun
from ibench_lib.runner.settle import Action
from ibench_lib.servers.build import Build
from ibench_lib.workloads.insert_benchmark import steps as steps_of
from ibench_lib.workloads.workload import Step
from tests.faults import server_here, survivors
from tests.runner.cells import OTHERS, Watcher, experiment, nothing_left, run, the_run


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
        # Its sockets refuse before its parent may see its end: how long before is the kernel's affair.
        late = iter([True, True])
        alive = run.server.alive
        monkeypatch.setattr(run.server, "alive", lambda: next(late, False) or alive())

    monkeypatch.setattr(OneRun, "_seal_step", seal_and_kill)
    with pytest.raises(ServerLost, match=r"step l\.i0: check failed: .*; the server has died"):
        run(experiment(tmp_path, monkeypatch, "l.i0, l.x"), build, workspace, Watcher())
    _, manifest = the_run(workspace)
    assert (manifest.status, manifest.failed_step) == ("failed", "l.i0")
    assert "the server has died" in (manifest.error or "")
    assert nothing_left(workspace)
