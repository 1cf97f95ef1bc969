"""Counts and lists in words, for every message and sentence."""

from __future__ import annotations

import signal
from collections.abc import Sequence

MOST_NAMED = 3
"""The most results that a sentence names; the table below it has all of them."""
NOT_MEASURED = {"published": "published figures", "imported": "imported logs"}
"""What runs have that were not measured here, by the origin of the run."""

PROTOCOLS = {"text": "statements as text", "prepared": "prepared statements"}
"""How clients send statements, by what runs call it."""

_MOST_KNOWN = 12


def count(number: int, what: str, several: str | None = None) -> str:
    """1 step, 3 steps; 1 index, 3 indexes."""
    return f"{number:,} {what if number == 1 else several or what + 's'}"


def shortened(items: Sequence[str], separator: str = "; ") -> str:
    """The first few items, and how many more there are."""
    more = len(items) - MOST_NAMED
    return separator.join(items[:MOST_NAMED]) + (f"{separator}and {more} more" if more > 0 else "")


def joined(items: Sequence[str]) -> str:
    """a; a and b; a, b and c."""
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def capital(text: str) -> str:
    """The text with its first letter as a capital."""
    return text[:1].upper() + text[1:]


def ending(status: int) -> str:
    """What became of a process, by its return code: was killed by SIGKILL, ended with exit code 3."""
    return f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with exit code {status}"


def duration_text(seconds: float) -> str:
    """Such as 45 s, 12 min, 3 h 20 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def suggestion(name: str, known: list[str]) -> str:
    """`; did you mean 'x'?` for the nearest known name, else `; known: ...` with the first of them."""
    import difflib  # only who has mistyped a name waits for it

    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]!r}?"
    more = f" and {len(known) - _MOST_KNOWN} more" if len(known) > _MOST_KNOWN else ""
    return f"; known: {', '.join(known[:_MOST_KNOWN])}{more}" if known else ""
