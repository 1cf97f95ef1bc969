"""Runs whose redo log is full for some seconds of l.i1."""

from __future__ import annotations

from tests.synthetic import Run

SECONDS = 12
FULL = (8, 9, 10, 11)
"""Seconds of l.i1 with a full log; half of them are a stall."""


def level(full: int | None, else_: int | None) -> tuple[int | None, ...]:
    return tuple(full if second in FULL else else_ for second in range(SECONDS))


def grown(full: int, else_: int) -> tuple[int, ...]:
    return tuple(sum(full if each in FULL else else_ for each in range(second + 1)) for second in range(SECONDS))


def run_with(
    columns: dict[str, tuple[int | None, ...]], name: str = "full", repeat: int = 1, stall: tuple[int, ...] = FULL[:2]
) -> Run:
    """A run with these columns of `server_samples`."""
    minute = repeat if name == "full" else 5
    return Run(name, repeat=repeat, minute=minute, l_i1_s=SECONDS, stall=stall, sampled=tuple(columns.items()))


AT_SYNC = {"checkpoint_age_bytes": level(168, 90), "checkpoint_age_sync_bytes": level(167, 167)}
AT_LIMIT = {"checkpoint_age_bytes": level(99, 98), "checkpoint_age_limit_bytes": level(100, 100)}
FLUSHED = {
    "checkpoint_age_bytes": level(90, 90), "checkpoint_age_sync_bytes": level(100, 100),
    "pages_flushed_sync": grown(50, 49), "pages_written": grown(100, 100), "redo_capacity_bytes": level(125, 125),
}  # fmt: skip
BELOW = {"checkpoint_age_bytes": level(40, 20), "checkpoint_age_sync_bytes": level(100, 100)}
NOT_CAPTURED = Run("none", minute=9, l_i1_s=SECONDS)
