"""How many processes this host's kernel has killed for lack of memory, of the host or of a container."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ibench_lib.base.wording import count

_COUNTERS = Path("/proc/vmstat")


def memory_kills() -> int | None:
    """Kills since the host has started, in all containers; None if the kernel does not say."""
    with suppress(OSError, ValueError):
        for line in _COUNTERS.read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill":
                return int(value)
    return None


def killed_since(before: int | None) -> str | None:
    """What to say of the kills since `memory_kills` was `before`; None if there were none, or nobody knows."""
    now = memory_kills()
    if before is None or now is None or now <= before:
        return None
    return f"meanwhile the kernel killed {count(now - before, 'process', 'processes')} of this host for lack of memory"
