"""Who may work on an experiment."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import distributed
import pytest

from ibench_lib.errors import IbenchError, UsageError
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.hosts import crew
from ibench_lib.runner.hosts.sweep import run_on_workers
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.plan import manifests
from tests.places import ROOT
from tests.runner.hosts.lab import TWICE, Lab, Telling, sweep, write
from tests.waiting import PATIENCE_S


@pytest.mark.long
def test_hosts_of_different_classes_are_mixed_only_when_told_to(lab: Lab, workspace: Workspace) -> None:
    big = lab.worker("big", FAKE_CPU="Big 9000")
    lab.worker("small", FAKE_CPU="Small 1")
    watcher = Telling()
    assert len(sweep(lab, workspace, watcher).made) == 2
    ((name, reason),) = watcher.refused
    assert name == "small" and "Small 1" in reason and "Big 9000" in reason
    assert {run.host["cpu_model"] for run in manifests(workspace)} == {"Big 9000"}
    big.terminate()
    big.wait(PATIENCE_S)
    with pytest.raises(
        UsageError,
        match=r"no worker has a suitable host: small: it is Small 1.* "
        "made on Big 9000",
    ) as caught:
        sweep(lab, workspace, text=TWICE)
    assert "--any-host" in (caught.value.hint or "")
    assert len(sweep(lab, workspace, text=TWICE, any_host=True).made) == 2
    assert {run.host["cpu_model"] for run in manifests(workspace)} == {"Big 9000", "Small 1"}


@pytest.mark.long
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


@pytest.mark.long
def test_without_a_worker_or_a_scheduler_it_says_so(
    lab: Lab, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load_experiment(write(workspace))
    with (
        monkeypatch.context() as patch,
        pytest.raises(UsageError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1: "),
    ):
        patch.setattr(crew, "_CONNECT_S", 1.0)
        run_on_workers(loaded, workspace, Observer(), "tcp://127.0.0.1:1")
    with pytest.raises(UsageError, match=r"no worker of tcp://127\.0\.0\.1:"):
        sweep(lab, workspace, wait_s=1)


@pytest.mark.long
def test_a_worker_in_the_same_workspace_is_refused(lab: Lab) -> None:
    lab.worker("one")
    with pytest.raises(UsageError, match=r"one: an experiment is already running in its workspace"):
        sweep(lab, lab.workspace("one"))


def test_without_dask_one_line_says_what_to_install(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match="Dask is not installed") as caught:
        run_on_workers(load_experiment(write(workspace)), workspace, Observer(), "tcp://127.0.0.1:1")
    assert "pip install 'ibench[dask]'" in (caught.value.hint or "")


class Gone:
    """A client whose scheduler disappears while it waits for its workers: as Dask's, it cancels what it has asked."""

    def __init__(self) -> None:
        self.scheduler: Any = self
        self.address = "tcp://gone:1"

    def identity(self) -> None:
        """Asked by way of `sync` only."""

    def sync(self, *_: Any, **__: Any) -> dict[str, Any]:
        worker = {"name": "one", "resources": {crew.RESOURCE: 1}, "status": "running"}
        return {"workers": {"tcp://one:1": worker}}

    def submit(self, *_: Any, **__: Any) -> Any:
        self.scheduler = None
        return self

    def done(self) -> bool:
        return True

    def result(self, timeout: float) -> None:
        raise distributed.client.FutureCancelledError("ask-1", "scheduler-connection-lost")


def test_where_the_scheduler_is_gone_no_worker_is_refused() -> None:
    refused: list[tuple[str, str]] = []
    asking = crew.Crew(Gone(), {"code": "a"}, [0], "module", lambda *told: refused.append(told))
    with pytest.raises(IbenchError, match="the scheduler at tcp://gone:1 has disappeared"):
        asking.candidates(PATIENCE_S)
    assert refused == []


@pytest.mark.slow
def test_a_scheduler_that_is_lost_shows_no_traceback_of_dask(tmp_path: Path) -> None:
    program = (
        "import sys, time\nfrom ibench_lib.runner.hosts import crew\n"
        "with crew.connected(sys.argv[1]) as client:\n    print(flush=True)\n"
        "    while client.status == 'running': time.sleep(0.01)\n    print(client.status)\n"
    )
    lab = Lab(tmp_path / "lab")
    try:
        words = [sys.executable, "-c", program, lab.address]
        pipe = subprocess.PIPE
        with subprocess.Popen(words, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) as process:
            assert process.stdout and process.stdout.readline()
            lab.processes[0].kill()
            said, logged = process.communicate(timeout=PATIENCE_S)
    finally:
        lab.close()
    assert process.returncode == 0 and said.strip() == "connecting" and logged == ""
