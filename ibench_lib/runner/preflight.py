"""What to look at before a cell measures: does it fit, and is anything at work here that it would measure as well?

Each finding is a sentence. They become warnings of the run, or errors where the experiment is strict.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

from ibench_lib.errors import HostUnfit
from ibench_lib.paths import nearest_existing
from ibench_lib.workloads.workload import CommonOptions, Workload, programs_of

_SERVERS = ("mysqld", "mariadbd", "postgres", "mongod")
_BUSY_SHARE = 0.10
_LOOK_S = 0.5
_GOOD_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page")


def examine(needs: Iterable[tuple[Path, int]], memory_bytes: int = 0) -> list[str]:
    """All reasons not to measure on this host now. Takes half a second, to see who is at work.

    `needs` are folders, which need not be there yet, and the bytes that each will get.
    """
    return [
        *_room(needs, memory_bytes),
        *_others(),
        *governor_warnings(sorted(Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))),
        *clock_warnings(_text(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource"))),
        *_swap(),
    ]


def require_program(workload: Workload, options: CommonOptions, family: str | None = None) -> None:
    """Raises HostUnfit if the workload drives a program that this host cannot run, on servers of a family if given."""
    for here in programs_of(workload, options, family):
        if here.found is None:
            raise HostUnfit(here.why, hint=here.fix)


def governor_warnings(paths: Iterable[Path]) -> list[str]:
    """CPUs that do not run at full speed by themselves."""
    governors = {text for path in paths if (text := _text(path))} - {"performance"}
    return [f"CPU governor is {', '.join(sorted(governors))}, not performance"] if governors else []


def clock_warnings(source: str | None) -> list[str]:
    """A clock that costs a system call to read makes every timed operation slower."""
    return [f"clock source is {source}: reading it is slow"] if source and source not in _GOOD_CLOCKS else []


def _room(needs: Iterable[tuple[Path, int]], memory_bytes: int) -> list[str]:
    problems, of_disks = [], dict[int, tuple[Path, int]]()
    for folder, wanted in needs:
        place = nearest_existing(folder)
        first, before = of_disks.get(place.stat().st_dev, (place, 0))
        of_disks[place.stat().st_dev] = first, before + wanted
    for place, wanted in of_disks.values():
        free = shutil.disk_usage(place).free
        if free < 1.5 * wanted:
            where = f" in {place}" if len(of_disks) > 1 else ""
            needed = wanted / 1e9
            problems.append(f"{free / 1e9:.1f} GB of disk space is free{where}, but about {needed:.1f} GB is needed")
    available = psutil.virtual_memory().available
    if available < memory_bytes:
        needed = memory_bytes / 1e9
        problems.append(
            f"{available / 1e9:.1f} GB of memory is available, but the buffer pool alone needs {needed:.1f} GB"
        )
    return problems


def _others() -> list[str]:
    """Other servers, and other processes that take a good part of a core."""
    ours = {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}
    ours |= {parent.pid for parent in psutil.Process().parents()}
    # One that has ended and waits for its parent takes nothing.
    processes = [
        process
        for process in psutil.process_iter(["name", "status"])
        if process.pid not in ours and process.info["status"] != psutil.STATUS_ZOMBIE
    ]
    for process in processes:
        _percent(process)
    time.sleep(_LOOK_S)
    problems = []
    for process in processes:
        name, percent = process.info["name"] or "?", _percent(process)
        if percent is None:
            continue
        if percent >= 100 * _BUSY_SHARE:
            problems.append(f"another process was busy: {name} ({process.pid}), {percent:.0f} % of a core")
        elif name.startswith(_SERVERS):
            problems.append(f"another database server was running: {name} ({process.pid})")
    return problems


def _percent(process: psutil.Process) -> float | None:
    try:
        return process.cpu_percent()
    except psutil.Error:
        return None


def _swap() -> list[str]:
    used = psutil.swap_memory().used
    return [f"{used / 1e6:.0f} MB of swap space is in use"] if used > 100e6 else []


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return None
