"""Limits of CPU, memory and I/O that this process, and so a sandbox's server, lives under: control groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ibench_lib.capture.storage_facts import read

_ROOT = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")
_UNLIMITED_V1 = 1 << 60  # version 1 writes no limit as the largest multiple of a page


def limit_facts(membership: Path = _MEMBERSHIP, root: Path = _ROOT) -> dict[str, Any] | None:
    """CPUs, bytes of memory and rules for I/O, each None without a limit; None as a whole where it cannot be known.

    A group above ours limits us too: the tightest of each counts. I/O rules are those of all groups, as written.
    """
    text = read(membership)
    if text is None or not root.is_dir():
        return None
    cpus: list[float] = []
    memory: list[int] = []
    io: list[str] = []
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for group in _groups(root, controllers, path):
            if not controllers:
                _version_2(group, cpus, memory, io)
            else:
                _version_1(group, controllers.split(","), cpus, memory, io)
    return {
        "cpus": min(cpus, default=None),
        "memory_bytes": min(memory, default=None),
        "io": io or None,
    }


def _groups(root: Path, controllers: str, path: str) -> list[Path]:
    """The group and all above it. In a container, its own group is mounted as the root."""
    # Where version 1 is mounted too, version 2 is mounted below a name.
    names = [controllers, *controllers.split(",")] if controllers else ["", "unified"]
    for name in names:
        top = root / name
        if not top.is_dir() or (not controllers and not (top / "cgroup.procs").exists()):
            continue
        group = top / path.lstrip("/")
        if not group.is_dir():
            group = top
        return [group, *(above for above in group.parents if above.is_relative_to(top))]
    return []


def _version_2(group: Path, cpus: list[float], memory: list[int], io: list[str]) -> None:
    quota, _, period = (read(group / "cpu.max") or "max").partition(" ")
    if quota != "max":
        cpus.append(int(quota) / int(period))
    limit = read(group / "memory.max") or "max"
    if limit != "max":
        memory.append(int(limit))
    io += [line for line in (read(group / "io.max") or "").splitlines() if line]


def _version_1(group: Path, controllers: list[str], cpus: list[float], memory: list[int], io: list[str]) -> None:
    if "cpu" in controllers:
        quota, period = read(group / "cpu.cfs_quota_us"), read(group / "cpu.cfs_period_us")
        if quota and period and int(quota) > 0:
            cpus.append(int(quota) / int(period))
    if "memory" in controllers:
        limit = read(group / "memory.limit_in_bytes")
        if limit and int(limit) < _UNLIMITED_V1:
            memory.append(int(limit))
    if "blkio" in controllers:
        for what in ("read_bps", "write_bps", "read_iops", "write_iops"):
            rules = read(group / f"blkio.throttle.{what}_device") or ""
            io += [f"{what} {line}" for line in rules.splitlines() if line]
