"""The digest of what a lake answers from: which changes it shows."""

import sys
from pathlib import Path

import pytest

from ibench_lib.paths import Workspace
from ibench_lib.store import state


@pytest.fixture(autouse=True)
def _library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "YOUNG_NS", 0)
    monkeypatch.setattr(state, "PACKAGE", tmp_path / "library")


def test_a_folder_of_packages_that_is_not_there_is_none(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state.state_of(workspace)
    later = workspace.root / "later"
    monkeypatch.setattr(sys, "path", [*sys.path, str(later)])
    assert state.state_of(workspace) == before
    later.mkdir()
    assert state.state_of(workspace) not in (None, before)


def test_a_run_that_comes_and_goes_leaves_no_trace_and_one_that_is_written_has_no_state(workspace: Workspace) -> None:
    before = state.state_of(workspace)
    run = workspace.runs / "run"
    (run / "journal").mkdir(parents=True)
    assert state.state_of(workspace) is None
    (run / "journal").rmdir()
    assert state.state_of(workspace) not in (None, before)
    run.rmdir()
    workspace.runs.rmdir()
    assert state.state_of(workspace) == before
