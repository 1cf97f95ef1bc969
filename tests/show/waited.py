"""Runs with waits inside the server, whose figures can be worked out in the head.

An interval of 4 s lies in l.i0, in which the clients insert 9,000 rows by 88 statements. Another one reaches over the
step's beginning.
"""

from __future__ import annotations

from typing import Any

from tests.synthetic import Run

MUTEX, RWLOCK, FILE = "wait/synch/mutex/innodb/buf_pool_mutex", "wait/synch/rwlock/innodb/x", "wait/io/file/innodb/f"
COUNTED = "dict0dict.cc:1057"


def interval(t_s: float, source: str, event: str, waits: int, wait_s: float | None) -> tuple[str, dict[str, Any]]:
    row = {"tick": int(t_s), "t_s": t_s, "seconds": 4.0, "source": source, "event": event}
    return "waits", {**row, "waits": waits, "wait_s": wait_s}


def timed(config: str, minute: int = 0, times: float = 1.0, **more: Any) -> Run:
    """A run of a server that times its waits."""
    rows = (
        interval(4.0, "performance_schema", MUTEX, 10_000, 5.0),
        interval(6.0, "performance_schema", MUTEX, 18_000, 0.9 * times),
        interval(6.0, "performance_schema", RWLOCK, 9_000, 0.09 * times),
        interval(6.0, "performance_schema", FILE, 9_000, 9.0 * times),
    )
    return Run(config, minute=minute, also=rows, **more)


def counted(config: str, minute: int = 0) -> Run:
    """A run of a server that only counts its waits."""
    return Run(config, minute=minute, also=(interval(6.0, "innodb_mutex", COUNTED, 4_500, None),))
