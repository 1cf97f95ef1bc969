"""Statements whose text is not kept, since it may hold a password."""

from __future__ import annotations

import re

_SUSPECT = re.compile(r"identified|password", re.IGNORECASE)
NOT_KEPT = "(not kept: it may hold a password)"


def statement(text: str) -> str:
    """A statement's text, or a note in its place."""
    return NOT_KEPT if _SUSPECT.search(text) else text


def report(text: str) -> str:
    """A server's report with statements in it, such as InnoDB's: from a suspect line to the next section or entry."""
    if not _SUSPECT.search(text):
        return text
    kept: list[str] = []
    dropping = False
    for line in text.splitlines():
        if _SUSPECT.search(line):
            if not dropping:
                kept.append(NOT_KEPT)
            dropping = True
        elif not dropping or line.startswith(("--", "==", "***")):
            dropping = False
            kept.append(line)
    return "\n".join(kept)
