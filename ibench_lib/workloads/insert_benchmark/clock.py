"""The simulated clock of the Insert Benchmark's rows, for plans, which make none: they need not wait for numpy."""

from __future__ import annotations

_BLOCK_ROWS = 2_000
"""About so many rows have the same second."""


def clock_seconds(statements: int, rows_per_commit: int) -> int:
    """By how many seconds the clock of an inserter advances in so many statements."""
    return -(-statements // statements_per_block(rows_per_commit))


def statements_per_block(rows_per_commit: int) -> int:
    """Statements of one block, which is one second of the clock."""
    return max(1, _BLOCK_ROWS // rows_per_commit)
