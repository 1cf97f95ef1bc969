"""Limits of the container or the group that a run is in."""

from pathlib import Path

from ibench_lib.capture.limit_facts import limit_facts
from tests.capture.files import files


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
