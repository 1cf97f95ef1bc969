"""Who may work on an experiment."""

import shutil
import sys
from pathlib import Path

import pytest

from ibench_lib.errors import UsageError
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
