"""Removing a run takes that run and nothing else."""

from pathlib import Path

import pytest

from ibench_lib.errors import LakeError, NameRefused
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.remove import finish_removals, remove_run
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake


def test_removing_takes_a_run_and_nothing_else(workspace: Workspace, tmp_path: Path) -> None:
    run, other = Run(), Run("other", minute=1)
    write_runs(workspace, run, other)
    (workspace.runs / "mine").mkdir()
    (workspace.runs / "mine" / "thesis.txt").write_text("years of work")
    (workspace.runs / "link").symlink_to(tmp_path)
    remove_run(run.run_id, workspace)
    assert {path.name for path in workspace.runs.iterdir()} == {other.run_id, "mine", "link"}
    for name, error in (("mine", LakeError), ("link", LakeError), ("nothing", LakeError), ("../x", NameRefused)):
        with pytest.raises(error):
            remove_run(name, workspace)
    assert (workspace.runs / "mine" / "thesis.txt").read_text() == "years of work"
    workspace.run_dir(other.run_id).rename(workspace.runs / f".removing-{other.run_id}")
    assert reader.sql(reader.lake(workspace), "SELECT * FROM runs").is_empty()
    finish_removals(workspace.runs)
    assert {path.name for path in workspace.runs.iterdir()} == {"mine", "link"}
