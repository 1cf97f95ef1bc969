"""The place of a release in the order of its flavour: the first three numbers of its version."""

from __future__ import annotations

import re

Release = tuple[int, int, int]

_NUMBERS = re.compile(r"(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6})(?!\d)|(?!\.?\d))")


def release_of(version: str | None) -> Release | None:
    """(10, 11, 19) of 10.11.19-MariaDB, (9, 7, 0) of 9.7; None for a version that has no place in the order."""
    found = _NUMBERS.match(version or "")
    if found is None:
        return None
    major, minor, patch = (int(number or 0) for number in found.groups())
    return major, minor, patch


def release_text(release: Release) -> str:
    """10.11.19 of (10, 11, 19)."""
    return ".".join(map(str, release))


def is_next(before: Release, after: Release) -> bool:
    """Whether no release lies between two: the second is the next patch of the same series."""
    return before[:2] == after[:2] and after[2] == before[2] + 1
