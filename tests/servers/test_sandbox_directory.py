"""Directories of sandboxes: whose they are, and who may delete them. With a server in them: test_sandbox.py."""

import json
import os
from pathlib import Path

import pytest

from ibench_lib.errors import HostUnfit, ServerStartDisturbed
from ibench_lib.servers.sandbox_directory import MARKER, Claim, sweep


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
    for name, named in (("ibench-foreign", "somebody's"), ("precious", str(sandboxes / "lying"))):
        (disk / name).mkdir()
        (disk / name / MARKER).write_text(json.dumps({"sandbox": named}))
    (disk / "ibench-bare").mkdir()
    (sandboxes / "lying").mkdir()
    named = [str(disk / name) for name in ("ibench-foreign", "precious", "ibench-bare", "missing")]
    (sandboxes / "lying" / MARKER).write_text(json.dumps({"socket_dir": "", "elsewhere": named}))
    assert sweep(sandboxes) == [sandboxes / "box", sandboxes / "lying"]
    assert sorted(path.name for path in disk.iterdir()) == ["ibench-bare", "ibench-foreign", "precious"]


@pytest.mark.fault("F18")
def test_sweep_leaves_what_is_not_ours(tmp_path: Path) -> None:
    sandboxes = tmp_path / "sandboxes"
    (sandboxes / "foreign").mkdir(parents=True)
    (sandboxes / "foreign" / "file").write_text("x")
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
    assert (precious / MARKER).exists()
    assert (victim / "data").exists(), "a directory with more than a socket in it is not ours"
