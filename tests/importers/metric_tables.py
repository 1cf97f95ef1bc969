"""Tables of a server's metrics, as scripts write them: the wall time of each reading and a column for each metric."""

from __future__ import annotations

from collections.abc import Sequence

NAMES = (
    "buffer_LRU_get_free_search",
    "log_lsn_checkpoint_age",
    "trx_rseg_history_len",
    "lock_deadlocks",
    "trx_on_log_waits",
)
BEGAN = 1_777_043_482.343


def table(history: Sequence[int], *, every_s: float = 1.05, names: Sequence[str] = NAMES) -> str:
    """A reading for each length of the history list. One metric counts up by 100, one is 0 twice, one never changes."""
    lines = [",".join(["timestamp", *names])]
    for number, length in enumerate(history):
        known = {"trx_rseg_history_len": length, "buffer_LRU_get_free_search": 100 * number, "trx_on_log_waits": -7}
        known["log_lsn_checkpoint_age"] = 5000 if number > 1 else 0
        counts = ",".join(str(known.get(name, 0)) for name in names)
        lines.append(f"{BEGAN + number * every_s:.3f},{counts}")
    return "\n".join(lines) + "\n"
