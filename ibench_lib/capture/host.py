"""The host, once a second: CPU, run queue, memory, paging. From /proc."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from ibench_lib.capture.collector import Collector
from ibench_lib.capture.proc import ProcFile

_KIB = 1024
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Host(Collector):
    """/proc/stat, /proc/meminfo, /proc/vmstat, kept open."""

    name: ClassVar[str] = "host"
    tables: ClassVar[tuple[str, ...]] = ("host_samples",)

    def open(self) -> None:
        self._stat, self._meminfo, self._vmstat = (ProcFile(f"/proc/{name}") for name in ("stat", "meminfo", "vmstat"))

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        for table, columns in self._now(now_s):
            self.emit(table, tick=tick, **columns)

    def counters(self, now_s: Callable[[], float], *, starts: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        return self._now(now_s)

    def _now(self, now_s: Callable[[], float]) -> Iterator[tuple[str, dict[str, Any]]]:
        t_s, stat = now_s(), self._stat.read()
        memory = memory_columns(self._meminfo.read())
        if memory["memory_available_bytes"] is None:
            self.null_reasons["host_samples.memory_available_bytes"] = "this kernel's /proc/meminfo has no MemAvailable"
        yield "host_samples", {"t_s": t_s, **stat_columns(stat), **memory, **paging_columns(self._vmstat.read())}


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


def _by_name(text: bytes) -> Mapping[bytes, bytes]:
    pairs = (line.split(maxsplit=1) for line in text.splitlines())
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
