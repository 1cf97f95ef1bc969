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
from tests.capture.files import files
from tests.places import ROOT


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


def library(root: Path) -> Path:
    """The folder of the module, in a checkout."""
    (root / "ibench_lib" / "capture").mkdir(parents=True)
    return files(root / "ibench_lib" / "capture", {"host_facts.py": "x = 1"})


def test_the_commit_of_the_checkout_and_whether_it_was_changed(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    folder = library(tmp_path)
    assert workbench_commit(folder) is None

    def git(*arguments: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        command = ["git", "-C", str(tmp_path), *who, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    commit = git("rev-parse", "HEAD")
    assert workbench_commit(folder) == commit
    files(folder, {"host_facts.py": "x = 2"})
    assert workbench_commit(folder) == f"{commit} dirty"


def test_the_repository_around_an_environment_is_not_asked(tmp_path: Path) -> None:
    """A folder that was received has the configuration of its git, which names programs."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    folder = library(tmp_path / "venv" / "site-packages")
    ran = tmp_path / "ran"
    monitor = files(tmp_path, {"monitor": f"#!/bin/sh\ntouch {ran}\nexit 1\n"}) / "monitor"
    monitor.chmod(0o755)
    for command in (["init"], ["add", "-f", "."], ["config", "core.fsmonitor", str(monitor)]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True, capture_output=True)
    assert workbench_commit(folder) is None
    assert not ran.exists()


def test_the_facts_name_the_commit_of_this_checkout(tmp_path: Path) -> None:
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("this is not a checkout, or there is no git")
    assert host_facts(tmp_path)["workbench_commit"].split()[0] == done.stdout.strip()
