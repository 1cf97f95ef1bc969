"""Counts in words, for every message."""

from __future__ import annotations


def count(number: int, what: str, several: str | None = None) -> str:
    """1 step, 3 steps; 1 index, 3 indexes."""
    return f"{number:,} {what if number == 1 else several or what + 's'}"
