"""Links and pipes in the place of a run's files: no link is followed, and no pipe is waited for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ibench_lib.paths import Workspace
from tests.command import ibench
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake

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
@pytest.mark.parametrize(
    ("odd", "said"), [(link, "a symbolic link, which is not followed"), (pipe, "a folder, a device or a pipe")]
)
def test_odd_files_in_a_lake_are_named(there: Workspace, odd: Callable[[Path], None], said: str) -> None:
    """The reason tells that nothing was read: what a link leads to is no manifest either."""
    for name in ("manifest.json", "notes.json", "steps.parquet"):
        path = there.run_dir(BAD.run_id) / name
        before = path.read_bytes() if path.exists() else None
        odd(path)
        for place in ({}, {"IBENCH_LAKE": str(there.runs)}):
            listed = ibench(there, "runs", **place)
            assert listed.returncode == 0 and GOOD.run_id in listed.stdout
            (line,) = [line for line in listed.stderr.splitlines() if line.startswith(f"skipped {BAD.run_id} {name}: ")]
            assert said in line
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


@pytest.mark.slow
@pytest.mark.parametrize("target", ["there", "absent"])
def test_push_writes_through_no_link(workspace: Workspace, tmp_path: Path, target: str) -> None:
    """Who may write the shared folder plants links to files of who pushes to it."""
    write_runs(workspace, GOOD, BAD)
    ibench(workspace, "runs", "exclude", GOOD.run_id, "--why", "odd")
    outside, shared = tmp_path / "outside", tmp_path / "shared"
    names = [path.name for path in workspace.run_dir(GOOD.run_id).iterdir()]
    assert "notes.json" in names
    (shared / GOOD.run_id).mkdir(parents=True)
    outside.mkdir()
    for name in [name for name in names if target == "absent" or name != "manifest.json"]:
        if target == "there":
            (outside / name).write_text(SECRET)
        for link_to in (name, f".{name}.tmp"):
            (shared / GOOD.run_id / link_to).symlink_to(outside / name)
    (shared / BAD.run_id).symlink_to(outside)
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    pushed = ibench(workspace, "runs", "push", str(shared), GOOD.run_id)
    assert pushed.returncode == 0, pushed.stderr
    assert sorted(path.name for path in (shared / GOOD.run_id).iterdir()) == sorted(names)
    assert not [path for path in (shared / GOOD.run_id).iterdir() if path.is_symlink()]
    refused = ibench(workspace, "runs", "push", str(shared), BAD.run_id)
    assert refused.returncode != 0 and f"run {BAD.run_id} in {shared} is not a folder, but a link" in refused.stderr
    # Later notes replace those that are there.
    (shared / GOOD.run_id / "notes.json").unlink()
    (shared / GOOD.run_id / "notes.json").symlink_to(outside / "later")
    assert "0 of 1 run pushed" in ibench(workspace, "runs", "push", str(shared), GOOD.run_id).stdout
    assert "odd" in (shared / GOOD.run_id / "notes.json").read_text()
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before


@pytest.mark.slow
def test_push_reads_no_link(workspace: Workspace, tmp_path: Path) -> None:
    write_runs(workspace, GOOD)
    link(workspace.run_dir(GOOD.run_id) / "notes.json")
    pushed = ibench(workspace, "runs", "push", str(tmp_path / "shared"))
    assert pushed.returncode != 0 and "notes.json" in pushed.stderr and "Traceback" not in pushed.stderr
    assert not list((tmp_path / "shared").rglob("manifest.json"))
