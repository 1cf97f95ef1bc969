"""The block device below a folder."""

import os
from pathlib import Path

import pytest

from ibench_lib.capture.block_device import device_below


def sys_block(folder: Path, number: int, *, partition: bool) -> Path:
    """A /sys/dev/block with one device of this number: sdz, or its partition sdz1."""
    whole = folder / "devices" / "sdz"
    target = whole / "sdz1" if partition else whole
    target.mkdir(parents=True)
    if partition:
        (target / "partition").write_text("1\n")
    block = folder / "block"
    block.mkdir()
    (block / f"{os.major(number)}:{os.minor(number)}").symlink_to(target)
    return block


@pytest.mark.parametrize("partition", [False, True])
def test_the_device_below_a_folder(partition: bool, tmp_path: Path) -> None:
    block = sys_block(tmp_path, tmp_path.stat().st_dev, partition=partition)
    assert device_below(tmp_path, block) == ("sdz", None)


def test_the_device_below_an_overlay_is_that_of_its_upper_folder(tmp_path: Path) -> None:
    # The overlay is one of /proc, whose number no block device has; its upper folder lies on a real one.
    number = os.stat("/proc").st_dev
    block = sys_block(tmp_path, tmp_path.stat().st_dev, partition=True)
    mounts = tmp_path / "mountinfo"
    line = f"36 35 {os.major(number)}:{os.minor(number)} / /proc rw - overlay overlay rw,lowerdir=/l,upperdir=%s\n"
    mounts.write_text(line % tmp_path)
    assert device_below(Path("/proc"), block, mounts) == ("sdz", None)
    mounts.write_text(line % "/nowhere/at/all")
    name, reason = device_below(Path("/proc"), block, mounts)
    assert name is None and reason == "/proc lies on a file system (overlay) without a block device of its own"
