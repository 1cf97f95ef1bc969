"""Links and pipes in the place of a run's files: no link is followed, and no pipe is waited for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ibench_lib.paths import Workspace
from tests.command import ibench
from tests.synthetic import Run, write_runs

GOOD, BAD = Run(), Run("bad", minute=1)
SECRET = "pr1v4te-k3y"
NAMES = ["manifest.json", "notes.json", "my.cnf", "server.log", "steps.parquet"]


def link(path: Path) -> None:
    target = path.parent.parent.parent / "secret"
    target.write_text(SECRET)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


@pytest.fixture
def there(tmp_path: Path) -> Workspace:
    place = Workspace(tmp_path / "there")
    write_runs(place, GOOD, BAD)
    return place


@pytest.mark.slow
@pytest.mark.parametrize("odd", [link, pipe])
def test_odd_files_are_not_pulled(workspace: Workspace, there: Workspace, odd: Callable[[Path], None]) -> None:
    for name in NAMES:
        path = there.run_dir(BAD.run_id) / name
        before = path.read_bytes() if path.exists() else None
        odd(path)
        pulled = ibench(workspace, "runs", "pull", str(there.runs), BAD.run_id)
        assert pulled.returncode == 1 and name in pulled.stderr and "Traceback" not in pulled.stderr, pulled.stderr
        assert not workspace.run_dir(BAD.run_id).exists()
        path.unlink()
        if before is not None:
            path.write_bytes(before)
    assert "1 of 1 run pulled" in ibench(workspace, "runs", "pull", str(there.runs), BAD.run_id).stdout
    assert not [path for path in workspace.runs.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


@pytest.mark.slow
@pytest.mark.parametrize("odd", [link, pipe])
def test_odd_files_in_a_lake_are_named(there: Workspace, odd: Callable[[Path], None]) -> None:
    for name in ("manifest.json", "notes.json", "steps.parquet"):
        path = there.run_dir(BAD.run_id) / name
        before = path.read_bytes() if path.exists() else None
        odd(path)
        for place in ({}, {"IBENCH_LAKE": str(there.runs)}):
            listed = ibench(there, "runs", **place)
            assert listed.returncode == 0 and GOOD.run_id in listed.stdout
            assert f"skipped {BAD.run_id} {name}: " in listed.stderr
        verified = ibench(there, "runs", "verify")
        assert verified.returncode == 1 and name in verified.stdout and f"{GOOD.run_id}: good" in verified.stdout
        path.unlink()
        if before is not None:
            path.write_bytes(before)
    assert ibench(there, "runs", "verify").returncode == 0


@pytest.mark.slow
def test_a_lake_may_be_a_link_but_no_run_of_it(workspace: Workspace, there: Workspace) -> None:
    elsewhere = there.root / "elsewhere"
    there.run_dir(BAD.run_id).rename(elsewhere)
    there.run_dir(BAD.run_id).symlink_to(elsewhere)
    (workspace.root / "lake").symlink_to(there.runs)
    lake = str(workspace.root / "lake")
    listed = ibench(workspace, "runs", IBENCH_LAKE=lake)
    assert GOOD.run_id in listed.stdout and f"skipped {BAD.run_id} : a symbolic link" in listed.stderr
    pulled = ibench(workspace, "runs", "pull", lake)
    assert pulled.returncode == 1 and f"not pulled: run {BAD.run_id}" in pulled.stderr
    assert [path.name for path in workspace.runs.iterdir()] == [GOOD.run_id]
