import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.capture.host_facts import (
    cpu_governor,
    host_class,
    host_class_here,
    host_facts,
    physical_cores,
    workbench_commit,
)
from ibench_lib.capture.limit_facts import limit_facts
from ibench_lib.capture.storage_facts import device_facts, impersonal, members


def files(folder: Path, content: dict[str, str]) -> Path:
    for name, text in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return folder


def test_facts_are_complete_and_json(tmp_path: Path) -> None:
    facts = host_facts(tmp_path)
    assert json.loads(json.dumps(facts)) == facts
    assert facts["memory_bytes"] > 1 << 28 and facts["usable_cpus"] >= 1
    assert facts["filesystem"]["type"]
    assert set(facts["vm"]) >= {"swappiness", "dirty_ratio"} and facts["vm"]["swappiness"].isdigit()
    assert facts["device"].get("name") or facts["device"]["reason"]


def test_only_the_environment_that_bears_on_performance_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MALLOC_ARENA_MAX", "2")
    monkeypatch.setenv("LD_PRELOAD_PASSWORD", "secret")
    monkeypatch.setenv("MYSQL_PWD", "secret")
    monkeypatch.setenv("TZ", "UTC")
    environment = host_facts(tmp_path)["environment"]
    assert environment["MALLOC_ARENA_MAX"] == "2" and environment["TZ"] == "UTC"
    assert "secret" not in environment.values()


def test_cores_are_counted_once_and_governors_told_apart(tmp_path: Path) -> None:
    content = {}
    for cpu in range(4):
        content[f"cpu{cpu}/topology/physical_package_id"] = "0"
        content[f"cpu{cpu}/topology/core_id"] = str(cpu % 2)
        content[f"cpu{cpu}/cpufreq/scaling_governor"] = "performance"
    cpu = files(tmp_path, content)
    assert physical_cores(cpu) == 2
    assert cpu_governor(cpu) == "performance"
    (cpu / "cpu3/cpufreq/scaling_governor").write_text("powersave\n")
    assert cpu_governor(cpu) == "performance 3, powersave 1"
    assert physical_cores(tmp_path / "nothing") is None
    assert cpu_governor(tmp_path / "nothing") is None


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


HOST: dict[str, Any] = {
    "cpu_model": "EPYC 9354",
    "usable_cpus": 8,
    "memory_bytes": 67_000_000_000,
    "kernel": "6.1.0-18-amd64",
    "limits": {"cpus": None, "memory_bytes": None, "io": None},
    "filesystem": {"type": "xfs", "options": "rw"},
    "device": {"name": "nvme0n1", "model": "FAST 9000", "members": None, "rotational": False},
}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, "EPYC 9354, 8 CPUs, 62 GiB, Linux 6.1, xfs on FAST 9000 SSD"),
        ({"cpu_model": "EPYC 7282"}, "EPYC 7282, 8 CPUs, 62 GiB, Linux 6.1, xfs on FAST 9000 SSD"),
        (
            {"limits": {"cpus": 1.5, "memory_bytes": 4 << 30}},
            "EPYC 9354, 1.5 CPUs, 4 GiB, Linux 6.1, xfs on FAST 9000 SSD",
        ),
        ({"kernel": "6.12.0"}, "EPYC 9354, 8 CPUs, 62 GiB, Linux 6.12, xfs on FAST 9000 SSD"),
        ({"filesystem": {"type": "ext4"}}, "EPYC 9354, 8 CPUs, 62 GiB, Linux 6.1, ext4 on FAST 9000 SSD"),
        (
            {"device": {"name": "sda", "model": "BIG 1", "rotational": True}},
            "EPYC 9354, 8 CPUs, 62 GiB, Linux 6.1, xfs on BIG 1 disk",
        ),
        (
            {"device": {"name": "md0", "model": None, "members": ["A", "A", "B"], "rotational": False}},
            "EPYC 9354, 8 CPUs, 62 GiB, Linux 6.1, xfs on 2 x A + B SSD",
        ),
        (
            {"filesystem": None, "device": {"reason": "no block device"}},
            "EPYC 9354, 8 CPUs, 62 GiB, Linux 6.1, unknown file system on unknown device",
        ),
    ],
)
def test_hosts_of_one_class_have_the_same_processor_memory_kernel_and_storage(
    changed: dict[str, Any], told: str
) -> None:
    assert host_class({**HOST, **changed}) == told
    same = {"memory_bytes": 67_000_123_456, "kernel": "6.1.0-21-amd64", "environment": {}}
    assert host_class({**HOST, **same, **changed}) == told


def test_the_class_is_of_the_disk_that_the_data_will_lie_on(
    tmp_path: Path, small_disk: Callable[[Path, str], Path]
) -> None:
    assert host_class_here(tmp_path / "not" / "there") == host_facts(tmp_path)["host_class"]
    other = small_disk(tmp_path / "sandboxes", "1m")
    assert host_class_here(other).endswith("tmpfs on unknown device")


def test_limits_of_version_2_the_tightest_above_us_counts(tmp_path: Path) -> None:
    root = files(
        tmp_path / "cgroup",
        {
            "cgroup.procs": "1",
            "a/memory.max": "2000000",
            "a/cpu.max": "max 100000",
            "a/b/cpu.max": "150000 100000",
            "a/b/memory.max": "max",
            "a/b/io.max": "8:0 rbps=1048576 wbps=max riops=max wiops=max",
        },
    )
    membership = files(tmp_path, {"self": "0::/a/b"}) / "self"
    assert limit_facts(membership, root) == {
        "cpus": 1.5,
        "memory_bytes": 2_000_000,
        "io": ["8:0 rbps=1048576 wbps=max riops=max wiops=max"],
    }


def test_limits_of_version_1(tmp_path: Path) -> None:
    root = files(
        tmp_path / "cgroup",
        {
            "cpu,cpuacct/job/cpu.cfs_quota_us": "50000",
            "cpu,cpuacct/job/cpu.cfs_period_us": "100000",
            "cpu,cpuacct/cpu.cfs_quota_us": "-1",
            "cpu,cpuacct/cpu.cfs_period_us": "100000",
            "memory/memory.limit_in_bytes": "9223372036854771712",
            "memory/job/memory.limit_in_bytes": "4096000",
            "blkio/job/blkio.throttle.write_bps_device": "8:0 1000000",
        },
    )
    membership = files(tmp_path, {"self": "3:cpu,cpuacct:/job\n2:memory:/job\n1:blkio:/job\n0::/"}) / "self"
    assert limit_facts(membership, root) == {"cpus": 0.5, "memory_bytes": 4_096_000, "io": ["write_bps 8:0 1000000"]}


def test_no_limit_and_nothing_to_know_are_told_apart(tmp_path: Path) -> None:
    root = files(tmp_path / "cgroup", {"cgroup.procs": "1", "cpu.max": "max 100000"})
    membership = files(tmp_path, {"self": "0::/"}) / "self"
    assert limit_facts(membership, root) == {"cpus": None, "memory_bytes": None, "io": None}
    assert limit_facts(tmp_path / "absent", root) is None


def test_the_commit_of_the_checkout_and_whether_it_was_changed(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    folder = files(tmp_path, {"host_facts.py": "x = 1"})
    assert workbench_commit(folder) is None

    def git(*arguments: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init")
    assert workbench_commit(folder) is None, "a file that is not of the checkout, as in somebody's environment"
    git("add", ".")
    git("commit", "-m", "first")
    commit = git("rev-parse", "HEAD")
    assert workbench_commit(folder) == commit
    files(folder, {"host_facts.py": "x = 2"})
    assert workbench_commit(folder) == f"{commit} dirty"


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
