"""Facts of the disks below a folder."""

from pathlib import Path

import pytest

from ibench_lib.capture.storage_facts import device_facts, impersonal, members
from tests.capture.files import files


def test_what_a_device_says_and_what_it_does_not(tmp_path: Path) -> None:
    content = {
        "device/model": "FAST 9000  ",
        "size": "2048",
        "queue/rotational": "0",
        "queue/scheduler": "[none] mq-deadline",
        "queue/read_ahead_kb": "128",
    }
    facts = device_facts(files(tmp_path / "nvme0n1", content))
    told = {name: value for name, value in facts.items() if value is not None}
    assert told == {
        "name": "nvme0n1",
        "model": "FAST 9000",
        "bytes": 1 << 20,
        "rotational": False,
        "scheduler": "none",
        "read_ahead_bytes": 128 << 10,
    }


def test_a_raid_and_a_volume_are_told_by_the_disks_below(tmp_path: Path) -> None:
    sys = files(
        tmp_path,
        {"nvme0n1/device/model": "FAST 9000", "nvme1n1/device/model": "FAST 9000", "nvme1n1/nvme1n1p2/partition": "2"},
    )
    for device, slaves in {"md0": ("nvme0n1", "nvme1n1/nvme1n1p2"), "dm-0": ("md0",), "dm-1": ("vda",)}.items():
        (sys / device / "slaves").mkdir(parents=True)
        for slave in slaves:
            (sys / device / "slaves" / Path(slave).name).symlink_to(sys / slave)
    assert members(sys / "dm-0") == members(sys / "md0") == ["FAST 9000", "FAST 9000"]
    assert members(sys / "dm-1") == ["unknown"] and members(sys / "nvme0n1") == []


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ("rw,noatime,data=ordered,stripe=64", "rw,noatime,data=ordered,stripe=64"),
        (
            "rw,lowerdir=/var/lib/docker/l/A:/var/lib/docker/l/B,upperdir=/v/u,workdir=/v/w,xino=off",
            "rw,lowerdir=<path>,upperdir=<path>,workdir=<path>,xino=off",
        ),
        (
            "rw,vers=4.2,rsize=1048576,clientaddr=10.0.0.3,local_lock=none,addr=10.0.0.9",
            "rw,vers=4.2,rsize=1048576,clientaddr=<name>,local_lock=none,addr=<name>",
        ),
        (
            "rw,username=bob,domain=EXAMPLE,compress=zstd:3,subvol=/@home",
            "rw,username=<name>,domain=<name>,compress=zstd:3,subvol=<path>",
        ),
    ],
)
def test_mount_options_tell_what_they_do_and_not_where_or_for_whom(options: str, seen: str) -> None:
    assert impersonal(options) == seen
