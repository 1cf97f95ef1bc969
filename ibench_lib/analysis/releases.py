"""The place of a release in the order of its flavour: the first numbers of its version; and when it appeared."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

Release = tuple[int, ...]
"""Three numbers, or two of a server whose releases of one line differ in the second: PostgreSQL since 10."""

_OF_TWO = 10
"""The first number from which on a version of two numbers is whole."""

_DATES = Path(__file__).with_suffix(".csv")

_NUMBERS = re.compile(r"(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6})(?!\d)|(?!\.?\d))")


def release_of(version: str | None) -> Release | None:
    """(10, 11, 19) of 10.11.19-MariaDB, (9, 7, 0) of 9.7, (15, 20) of 15.20; None for one that has no place."""
    match = _NUMBERS.match(version or "")
    if match is None:
        return None
    major, minor, patch = (int(number or 0) for number in match.groups())
    return (major, minor) if match[3] is None and major >= _OF_TWO else (major, minor, patch)


def release_text(release: Release) -> str:
    """10.11.19 of (10, 11, 19)."""
    return ".".join(map(str, release))


def is_next(before: Release, after: Release) -> bool:
    """Whether no release lies between two: the second is the next patch of the same series."""
    return before[:-1] == after[:-1] and after[-1] == before[-1] + 1


def line_text(release: Release) -> str:
    """The release line that a release belongs to: 10.11 of (10, 11, 19), 15 of (15, 20)."""
    return release_text(release).rpartition(".")[0]


@dataclass(frozen=True, order=True)
class ReleaseDate:
    """When a release appeared. `tagged`: the day of the tag of its source, some weeks before the release."""

    day: date
    tagged: bool

    @property
    def text(self) -> str:
        """2023-10-25; 2015-03-25 (tagged)."""
        return f"{self.day}{' (tagged)' if self.tagged else ''}"


def dated(flavour: str, release: Release) -> ReleaseDate | None:
    """When a release of a flavour appeared; None where nobody has looked it up."""
    return _dates().get((flavour, release))


@cache
def _dates() -> dict[tuple[str, Release], ReleaseDate]:
    with _DATES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    dates: dict[tuple[str, Release], ReleaseDate] = {}
    for row in rows:
        release = release_of(row["version"])
        assert release is not None, row
        dates[row["flavour"], release] = ReleaseDate(date.fromisoformat(row["date"]), row["event"] == "tagged")
    return dates
