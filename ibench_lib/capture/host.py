"""The host, once a second: CPU, run queue, memory, paging, pressure. From /proc."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from ibench_lib.capture.collector import Collector
from ibench_lib.capture.proc import ProcFile

_KIB = 1024
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")

PRESSURES = {
    "cpu": {b"some": "cpu_some_pressed_s"},  # of the whole machine, the kernel has no other
    "io": {b"some": "io_some_pressed_s", b"full": "io_all_pressed_s"},
    "memory": {b"some": "memory_some_pressed_s", b"full": "memory_all_pressed_s"},
}
"""Files of /proc/pressure -> their lines -> columns."""


class Host(Collector):
    """/proc/stat, /proc/meminfo, /proc/vmstat and /proc/pressure, kept open."""

    name: ClassVar[str] = "host"
    tables: ClassVar[tuple[str, ...]] = ("host_samples",)

    def open(self) -> None:
        self._stat, self._meminfo, self._vmstat = (ProcFile(f"/proc/{name}") for name in ("stat", "meminfo", "vmstat"))
        self._pressure: dict[str, ProcFile] = {}
        for what in PRESSURES:
            try:
                file = ProcFile(f"/proc/pressure/{what}")
                file.read()  # opens, but has nothing to say where it is switched off
                self._pressure[what] = file
            except OSError as error:
                reason = f"/proc/pressure/{what}: {error.strerror} (the kernel needs CONFIG_PSI and psi=1)"
                for column in PRESSURES[what].values():
                    self.null_reasons[f"host_samples.{column}"] = reason

    def counters(self, now_s: Callable[[], float], *, starts: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        t_s, stat = now_s(), self._stat.read()
        memory = memory_columns(self._meminfo.read())
        if memory["memory_available_bytes"] is None:
            self.null_reasons["host_samples.memory_available_bytes"] = "this kernel's /proc/meminfo has no MemAvailable"
        paging = paging_columns(self._vmstat.read())
        pressure: dict[str, float | None] = {name: None for names in PRESSURES.values() for name in names.values()}
        for what, file in self._pressure.items():
            pressure.update(pressure_columns(what, file.read()))
        yield "host_samples", {"t_s": t_s, **stat_columns(stat), **memory, **paging, **pressure}


def stat_columns(text: bytes) -> dict[str, Any]:
    """CPU seconds, context switches, interrupts and tasks of a /proc/stat."""
    lines = _by_name(text)
    # guest and guest_nice, which follow, are counted in user and nice already.
    user, nice, system, idle, iowait, irq, softirq, steal = (int(part) for part in lines[b"cpu"].split()[:8])
    return {
        "cpu_user_s": (user + nice) / _TICKS_PER_S,
        "cpu_system_s": (system + irq + softirq) / _TICKS_PER_S,
        "cpu_iowait_s": iowait / _TICKS_PER_S,
        "cpu_steal_s": steal / _TICKS_PER_S,
        "cpu_idle_s": idle / _TICKS_PER_S,
        "context_switches": int(lines[b"ctxt"]),
        "interrupts": int(lines[b"intr"].split(maxsplit=1)[0]),
        "runnable": int(lines[b"procs_running"]),
        "blocked": int(lines[b"procs_blocked"]),
    }


def memory_columns(text: bytes) -> dict[str, int | None]:
    """Bytes of a /proc/meminfo."""
    kib = {name.rstrip(b":"): int(rest.split()[0]) for name, rest in _by_name(text).items()}
    available = kib.get(b"MemAvailable")
    return {
        "memory_available_bytes": None if available is None else available * _KIB,
        "memory_free_bytes": kib[b"MemFree"] * _KIB,
        "page_cache_bytes": (kib[b"Cached"] + kib[b"Buffers"]) * _KIB,
        "dirty_bytes": kib[b"Dirty"] * _KIB,
        "writeback_bytes": kib[b"Writeback"] * _KIB,
        "swap_used_bytes": (kib[b"SwapTotal"] - kib[b"SwapFree"]) * _KIB,
    }


def paging_columns(text: bytes) -> dict[str, int]:
    """Swapped pages and major faults of a /proc/vmstat."""
    lines = _by_name(text)
    return {
        "swapped_in_pages": int(lines[b"pswpin"]),
        "swapped_out_pages": int(lines[b"pswpout"]),
        "major_faults": int(lines[b"pgmajfault"]),
    }


def pressure_columns(what: str, text: bytes) -> dict[str, float | None]:
    """Seconds of a file of /proc/pressure, whose lines end in total=<microseconds>."""
    totals = {kind: int(rest.rpartition(b"total=")[2]) / 1e6 for kind, rest in _by_name(text).items()}
    return {column: totals.get(kind) for kind, column in PRESSURES[what].items()}


def _by_name(text: bytes) -> Mapping[bytes, bytes]:
    pairs = (line.split(maxsplit=1) for line in text.splitlines())
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
