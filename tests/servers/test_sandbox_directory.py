"""Directories of sandboxes: whose they are, and who may delete them. With a server in them: test_sandbox.py."""

import os
from pathlib import Path

import pytest

from ibench_lib.errors import ServerStartDisturbed
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
