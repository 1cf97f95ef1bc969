"""Facts of this host for the manifest. What cannot be read is None: never a guess."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ibench_lib.base.later import later
from ibench_lib.capture.limit_facts import limit_facts
from ibench_lib.capture.storage_facts import read, storage_class, storage_facts
from ibench_lib.paths import nearest_existing

if TYPE_CHECKING:
    import psutil
else:
    psutil = later("psutil")  # a plan names the class of this host, and often needs nothing else of it

_HERE = Path(__file__).resolve().parent
_CPU = Path("/sys/devices/system/cpu")
_NODE = Path("/sys/devices/system/node")
_VM = Path("/proc/sys/vm")
_VM_SETTINGS = (
    "swappiness",
    "dirty_ratio",
    "dirty_background_ratio",
    "dirty_bytes",
    "dirty_background_bytes",
    "dirty_expire_centisecs",
    "dirty_writeback_centisecs",
    "overcommit_memory",
    "nr_hugepages",
    "zone_reclaim_mode",
)
# Names only that bear on performance or on how times and texts come out. No other is ever looked at.
_ENVIRONMENT = re.compile(r"LD_PRELOAD|LD_LIBRARY_PATH|MALLOC_[A-Z_]+|GLIBC_TUNABLES|TZ|LANG|LC_ALL|TMPDIR")


def host_facts(directory: Path) -> dict[str, Any]:
    """CPU, memory, kernel, limits, the storage below `directory`, and the class of host that this makes."""
    disk = psutil.disk_usage(str(directory))
    flags = _cpuinfo("flags")
    facts = {
        "cpu_model": _cpuinfo("model name"),
        "physical_cores": physical_cores(),
        "logical_cpus": os.cpu_count(),
        "usable_cpus": len(os.sched_getaffinity(0)),
        "smt": {"1": True, "0": False}.get(read(_CPU / "smt/active") or ""),
        "numa_nodes": len(list(_NODE.glob("node[0-9]*"))) or None,
        "cpu_governor": cpu_governor(),
        "memory_bytes": psutil.virtual_memory().total,
        "swap_bytes": psutil.swap_memory().total,
        "kernel": platform.release(),
        "machine": platform.machine(),
        "os": _os_name(),
        "hypervisor": None if flags is None else "hypervisor" in flags.split(),
        "dmi_product": _dmi(),
        "clock_source": read(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        "vm": {name: read(_VM / name) for name in _VM_SETTINGS},
        "transparent_hugepage": _chosen(read(Path("/sys/kernel/mm/transparent_hugepage/enabled"))),
        "limits": limit_facts(),
        **storage_facts(directory),
        "disk_total_bytes": disk.total,
        "disk_free_bytes": disk.free,
        "environment": {name: value for name, value in sorted(os.environ.items()) if _ENVIRONMENT.fullmatch(name)},
        "workbench_commit": workbench_commit(),
    }
    return {"host_class": host_class(facts), **facts}


def physical_cores(cpu: Path = _CPU) -> int | None:
    """Cores of all sockets: CPUs that share one are counted once."""
    cores = set()
    for topology in cpu.glob("cpu[0-9]*/topology"):
        core = (read(topology / "physical_package_id"), read(topology / "die_id"), read(topology / "core_id"))
        if core[2] is None:
            return None
        cores.add(core)
    return len(cores) or None


def cpu_governor(cpu: Path = _CPU) -> str | None:
    """The governor of all CPUs; where they differ, each with its number of CPUs: `performance 3, powersave 1`."""
    governors = [read(path) for path in cpu.glob("cpu[0-9]*/cpufreq/scaling_governor")]
    distinct = sorted({governor for governor in governors if governor})
    if len(distinct) < 2:
        return distinct[0] if distinct else None
    return ", ".join(f"{governor} {governors.count(governor)}" for governor in distinct)


def workbench_commit(folder: Path = _HERE) -> str | None:
    """The commit of the checkout whose library has this folder, with ` dirty` where it was changed; None outside one.

    git runs what a repository's own configuration names, such as a monitor of its files. So nothing but this checkout,
    whose code runs anyway, is asked: an installed package may lie in the working tree of somebody else's project.
    """

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True, env=environment)
        return done.stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")) != folder.resolve().parents[1]:
            return None
        commit = git("rev-parse", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{commit} dirty" if changed else commit


def _cpuinfo(name: str) -> str | None:
    for line in (read(Path("/proc/cpuinfo")) or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None


def _dmi() -> str | None:
    """Vendor and product as the firmware names them; virtual machines tell here what they are."""
    folder = Path("/sys/class/dmi/id")
    words = [read(folder / name) for name in ("sys_vendor", "product_name")]
    return " ".join(word for word in words if word) or None


def _chosen(text: str | None) -> str | None:
    """`madvise` of `always [madvise] never`."""
    match = re.search(r"\[(\w+)\]", text or "")
    return match[1] if match else None


def _os_name() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def host_class(facts: Mapping[str, Any]) -> str:
    """The kind of host that facts of a manifest are of: `AMD EPYC, 2 CPUs, 8 GiB, Linux 6.1, ext4 on FAST 9000 SSD`.

    What is measured on two hosts of one class may stand in one comparison. CPUs and memory are what a control group
    leaves of them; memory is in whole GiB, since machines of one kind differ by what their firmware keeps.
    """
    limits = facts.get("limits") or {}
    cpus = _least(facts.get("usable_cpus"), limits.get("cpus"))
    memory = _least(facts.get("memory_bytes"), limits.get("memory_bytes"))
    kernel = re.match(r"\d+\.\d+", str(facts.get("kernel") or ""))
    return ", ".join(
        (
            facts.get("cpu_model") or facts.get("machine") or "unknown CPU",
            "unknown CPUs" if cpus is None else f"{cpus:g} CPUs",
            "unknown memory" if memory is None else f"{memory / (1 << 30):.0f} GiB",
            f"Linux {kernel[0] if kernel else '?'}",
            storage_class(facts),
        )
    )


def host_class_here(directory: Path) -> str:
    """The class of this host, for data in `directory`, which need not be there yet."""
    return str(host_facts(nearest_existing(directory))["host_class"])


def _least(*values: float | None) -> float | None:
    return min((value for value in values if value is not None), default=None)


def same_host(facts: Mapping[str, Any]) -> bool:
    """Whether facts stored in a manifest are of a host like this one: what it measured bears on what this one will."""
    here = {
        "cpu_model": _cpuinfo("model name"),
        "usable_cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": psutil.virtual_memory().total,
    }
    return all(facts.get(name) == value for name, value in here.items())
