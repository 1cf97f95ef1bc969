"""Directories of sandboxes: whose they are, and who may delete them. With a server in them: test_sandbox.py."""

import errno
import gc
import json
import os
import socket
import sys
import tempfile
from pathlib import Path

import pytest

from ibench_lib.base import scratch
from ibench_lib.errors import HostUnfit, ServerStartDisturbed
from ibench_lib.servers.sandbox_directory import FILES_MARKER, MARKER, Claim, sweep


def test_a_claim_holds_until_it_is_released(tmp_path: Path) -> None:
    box = tmp_path / "sandboxes" / "box"
    claim = Claim(box)
    assert box.stat().st_mode & 0o777 == claim.socket_dir.stat().st_mode & 0o777 == 0o700
    with pytest.raises(ServerStartDisturbed, match=f"already exists, held by process {os.getpid()}"):
        Claim(box)
    assert sweep(box.parent) == [], "its holder is alive"
    claim.release()
    assert not box.exists() and not claim.socket_dir.exists()
    Claim(box).release()


def test_the_folder_for_the_socket_stays_however_long_a_server_takes_to_start(
    open_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a socket it is empty, as is a scratch directory whose maker was killed before it could mark it."""
    monkeypatch.setattr(tempfile, "tempdir", str(open_path))
    monkeypatch.setattr(scratch, "YOUNG_S", -1.0)
    claim, left = Claim(open_path / "box"), Path(tempfile.mkdtemp(prefix=scratch.PREFIX))
    assert claim.socket_dir.parent == left.parent == open_path
    assert scratch.sweep_scratch() == [left] and claim.socket_dir.is_dir()
    claim.release()


def test_folders_on_other_disks_are_private_and_go_with_the_sandbox(tmp_path: Path) -> None:
    box, disk, other = tmp_path / "sandboxes" / "box", tmp_path / "disk", tmp_path / "other"
    disk.mkdir()
    with pytest.raises(HostUnfit, match=f"no private folder can be made .*{other}"):
        Claim(box, [disk, other])
    assert not box.exists() and not any(disk.iterdir())
    other.mkdir()
    claim = Claim(box, [disk, other, disk])
    assert [folder.stat().st_mode & 0o777 for folder in claim.elsewhere] == [0o700, 0o700]
    (claim.elsewhere[0] / "datadir").mkdir()
    assert sweep(box.parent) == [], "its holder is alive"
    claim.release()
    assert not any(disk.iterdir()) and not any(other.iterdir())


@pytest.mark.fault("F18")
def test_sweep_removes_folders_on_other_disks_that_are_of_the_sandbox(tmp_path: Path) -> None:
    sandboxes, disk = tmp_path / "sandboxes", tmp_path / "disk"
    disk.mkdir()
    claim = Claim(sandboxes / "box", [disk])
    claim._lock.close()  # as the kernel does for a runner that is dead
    device = disk.stat().st_dev
    for name, named in (("ibench-foreign", "somebody's"), ("precious", str(sandboxes / "lying"))):
        (disk / name).mkdir()
        (disk / name / FILES_MARKER).write_text(json.dumps({"sandbox": named}))
    (sandboxes / "lying").mkdir()
    for name in ("ibench-lying", "ibench-foreign"):  # no marker is in the first; the second is not its own
        (disk / name).mkdir(exist_ok=True)
    (disk / "ibench-lying" / "data").touch()
    named = [(str(disk / name), device) for name in ("ibench-foreign", "precious", "missing")]
    (sandboxes / "lying" / MARKER).write_text(json.dumps({"socket_dir": "", "elsewhere": named}))
    assert sweep(sandboxes) == [sandboxes / "box", sandboxes / "lying"]
    assert sorted(path.name for path in disk.iterdir()) == ["ibench-foreign", "ibench-lying", "precious"]


@pytest.mark.fault("F18")
def test_a_folder_that_cannot_be_removed_now_is_removed_later(tmp_path: Path) -> None:
    sandboxes, disk = tmp_path / "sandboxes", tmp_path / "disk"
    disk.mkdir()
    claim = Claim(sandboxes / "box", [disk])
    claim._lock.close()
    (claim.elsewhere[0] / "datadir").mkdir()
    disk.rename(tmp_path / "unmounted")
    disk.mkdir()
    marker = sandboxes / "box" / MARKER
    text = json.loads(marker.read_text())
    text["elsewhere"][0][1] += 1  # the mount point alone is on another device
    marker.write_text(json.dumps(text))
    assert sweep(sandboxes) == [] and marker.is_file()
    disk.rmdir()
    (tmp_path / "unmounted").rename(disk)
    assert sweep(sandboxes) == [sandboxes / "box"] and not any(disk.iterdir())


def test_a_folder_whose_marker_could_not_be_written_goes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, _text: str) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("ibench_lib.servers.sandbox_directory.write_private", full)
    with pytest.raises(HostUnfit, match="No space left"):
        Claim(tmp_path / "sandboxes" / "box", [tmp_path])
    assert [path.name for path in tmp_path.iterdir()] == ["sandboxes"]


class Killed(BaseException):
    """Ends a process without any of its cleaning up, but for what the kernel does."""


_left = -1
"""How many changes of the file system may still be made before the process is killed; below 0: any number."""


def _count_down(event: str, _arguments: tuple[object, ...]) -> None:
    global _left
    if _left >= 0 and event in ("os.mkdir", "os.remove", "os.rmdir", "open"):
        if _left == 0:
            raise Killed
        _left -= 1


@pytest.mark.fault("F18")
def test_whenever_a_runner_is_killed_the_next_one_finds_all_that_it_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before each change of the file system that making and removing a sandbox takes, one after the other."""
    global _left
    sys.addaudithook(_count_down)  # it stays, and does nothing after this test
    sandboxes, disk, temporary = (tmp_path / name for name in ("sandboxes", "disk", "temporary"))
    for folder in (disk, temporary):
        folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    moments = 0
    while True:
        _left = moments
        try:
            claim = Claim(sandboxes / "box", [disk])
            for folder in (claim.directory, *claim.elsewhere):
                (folder / "datadir").mkdir()
                (folder / "datadir" / "ibdata1").touch()
            claim.release()
            break
        except Killed:
            moments += 1
        finally:
            _left = -1
        claim = None  # type: ignore[assignment]  # its lock goes, as with a process
        gc.collect()
        for path in sandboxes.glob("*"):
            os.utime(path, (0, 0))
        sweep(sandboxes)
        assert [path for place in (sandboxes, disk, temporary) for path in place.glob("*")] == [], moments
    assert moments > 15, "as many kills as changes"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's servers run as another user")
@pytest.mark.fault("F18")
def test_what_another_user_has_for_a_server_of_ours_is_swept_too(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    claim = Claim(tmp_path / "sandboxes" / "box", [disk])
    (claim.socket_dir / ".s.SERVER.1.lock").touch()
    (claim.socket_dir / "s").symlink_to(".s.SERVER.1")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(claim.socket_dir / ".s.SERVER.1"))
    for folder in (claim.directory, claim.socket_dir, claim.elsewhere[0]):
        os.chown(folder, 65534, 65534)
    claim._lock.close()
    assert sweep(tmp_path / "sandboxes") == [claim.directory]
    assert not claim.socket_dir.exists() and not any(disk.iterdir())


@pytest.mark.parametrize("length", [60, 69, 76, 90])
def test_a_servers_own_name_for_its_socket_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/tmp/" + "d" * (length - 5))
    monkeypatch.setattr(Path, "mkdir", lambda *_, **__: None)
    monkeypatch.setattr("ibench_lib.servers.sandbox_directory._write_marker", lambda *_: None)
    assert len(f"{Claim(tmp_path / 'box').socket_dir}/.s.PGSQL.65535.lock") <= 107


@pytest.mark.fault("F18")
def test_sweep_leaves_what_is_not_ours(tmp_path: Path) -> None:
    sandboxes = tmp_path / "sandboxes"
    (sandboxes / "foreign").mkdir(parents=True)
    (sandboxes / "foreign" / "file").write_text("x")
    (sandboxes / "young").mkdir()
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / MARKER).write_text("{}")
    (sandboxes / "link").symlink_to(precious)
    victim = tmp_path / "ibench-victim"
    victim.mkdir()
    (victim / "data").write_text("x")
    (sandboxes / "lying").mkdir()
    (sandboxes / "lying" / MARKER).write_text(f'{{"socket_dir": "{victim}"}}')
    assert sweep(sandboxes) == [sandboxes / "lying"]
    assert (sandboxes / "foreign" / "file").exists()
    assert (sandboxes / "young").exists(), "its runner may be about to write the marker"
    assert (precious / MARKER).exists()
    assert (victim / "data").exists(), "a directory with more than a socket in it is not ours"
