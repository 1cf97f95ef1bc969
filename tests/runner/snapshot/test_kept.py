"""Snapshots on disk: whole or not there, and swept when nobody wants them."""

import os
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.paths import Workspace
from ibench_lib.runner.snapshot import kept
from ibench_lib.runner.snapshot.sharing import LoadSettings
from tests.runner.snapshot.loaded import SETTINGS, a_datadir, a_record


def test_a_snapshot_is_private_has_no_identity_and_an_empty_list_of_pages(workspace: Workspace, tmp_path: Path) -> None:
    datadir = a_datadir(tmp_path / "sandbox")
    taken = kept.take(workspace, datadir, a_record(), ["ib_buffer_pool", "no_such_file"], ["auto.cnf", "*.pem"])
    home = workspace.snapshot_dir(SETTINGS.digest)
    assert not datadir.exists() and taken.datadir == home / "datadir"
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    files = {str(path.relative_to(taken.datadir)): path.stat().st_size for path in taken.datadir.rglob("*.*")}
    assert files == {"ibench/pi1.ibd": 5000}
    assert (taken.datadir / "ibdata1").stat().st_size == 5000 and (taken.datadir / "ib_buffer_pool").stat().st_size == 0
    assert taken.record.bytes >= 2 * 5000
    found = kept.find(workspace, SETTINGS)
    assert found == taken
    assert kept.find(workspace, LoadSettings({**SETTINGS.values, "innodb_page_size": "8192"})) is None


def test_a_snapshot_that_anybody_has_touched_is_none(workspace: Workspace, tmp_path: Path) -> None:
    taken = kept.take(workspace, a_datadir(tmp_path / "sandbox"), a_record())
    with open(taken.datadir / "ibench" / "pi1.ibd", "ab") as file:
        file.write(b"more")
    assert kept.find(workspace, SETTINGS) is None
    again = kept.take(workspace, a_datadir(tmp_path / "other", 7), a_record(run_id="r2"))
    assert again.record.run_id == "r2"
    assert kept.find(workspace, SETTINGS) == again


@pytest.mark.parametrize("dies_at", ["depersonalise", "write_through", "write_atomically"])
def test_killed_between_the_copy_and_the_marker_there_is_no_snapshot_and_the_next_run_sweeps_up(
    workspace: Workspace, tmp_path: Path, dies_at: str
) -> None:
    datadir = a_datadir(tmp_path / "sandbox")
    child = os.fork()
    if child == 0:
        setattr(kept, dies_at, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        kept.take(workspace, datadir, a_record())
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    home = workspace.snapshot_dir(SETTINGS.digest)
    assert (home / "datadir" / "ibdata1").exists(), "the files were there already"
    assert kept.find(workspace, SETTINGS) is None
    assert kept.sweep(workspace.snapshots, {SETTINGS.digest}) == [home], "wanted, and still only half"
    assert list(workspace.snapshots.iterdir()) == []


@pytest.mark.fault("F18")
def test_only_what_is_ours_is_swept(workspace: Workspace, tmp_path: Path) -> None:
    kept.take(workspace, a_datadir(tmp_path / "sandbox"), a_record())
    theirs = workspace.snapshots / "theirs"
    theirs.mkdir()
    (theirs / "precious").touch()
    (workspace.snapshots / "link").symlink_to(workspace.snapshot_dir(SETTINGS.digest))
    assert kept.sweep(workspace.snapshots, {SETTINGS.digest}) == []
    assert kept.sweep(workspace.snapshots) == [workspace.snapshot_dir(SETTINGS.digest)]
    assert {path.name for path in workspace.snapshots.iterdir()} == {"theirs", "link"}
    assert (theirs / "precious").exists()


def test_a_data_directory_on_another_disk_is_copied(workspace: Workspace, small_disk: Any) -> None:
    datadir = a_datadir(small_disk(workspace.sandboxes, "8m") / "box" / "datadir")
    taken = kept.take(workspace, datadir, a_record())
    assert not datadir.exists() and (taken.datadir / "ibench" / "pi1.ibd").stat().st_size == 5000
    assert kept.find(workspace, SETTINGS) == taken
