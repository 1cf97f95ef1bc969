"""Facts of this host for the manifest. What cannot be read is None: never a guess."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import psutil


def host_facts(directory: Path) -> dict[str, Any]:
    """CPU, memory, kernel, and the file system that holds `directory`."""
    disk = psutil.disk_usage(str(directory))
    return {
        "cpu_model": _cpu_model(),
        "logical_cpus": os.cpu_count(),
        "usable_cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": psutil.virtual_memory().total,
        "swap_bytes": psutil.swap_memory().total,
        "kernel": platform.release(),
        "machine": platform.machine(),
        "os": _os_name(),
        "clock_source": _read(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        "cpu_governor": _read(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        "filesystem": _filesystem(directory),
        "disk_total_bytes": disk.total,
        "disk_free_bytes": disk.free,
    }


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _cpu_model() -> str | None:
    for line in (_read(Path("/proc/cpuinfo")) or "").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return None


def _os_name() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _filesystem(directory: Path) -> dict[str, str] | None:
    """Type and mount options of the file system that holds `directory`: the longest mount point above it."""
    resolved = directory.resolve()
    above = [part for part in psutil.disk_partitions(all=True) if resolved.is_relative_to(part.mountpoint)]
    if not above:
        return None
    mount = max(above, key=lambda part: len(part.mountpoint))
    return {"type": mount.fstype, "options": mount.opts}
