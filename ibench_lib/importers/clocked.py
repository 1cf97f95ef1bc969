"""What tools print with a clock: a sample is a mean over the time since the clock before it, never an assumed one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ibench_lib.importers.host_logs import Sample

_OF_DAY = re.compile(r"(\d\d):([0-5]\d):([0-5]\d)", re.ASCII)
_DAY_S = 86_400.0
# A clock that goes on after a longer pause, or goes back, is that of another file.
_LONGEST_S = 600.0


@dataclass(frozen=True)
class Clocked:
    """Samples, each with the seconds that it is a mean over; None if the tool has printed no clock.

    A sample has counters of ours per second, and CPU time as a share of all CPUs. `cpus` and `device` are what the file
    says of the host and its disk.
    """

    samples: Sequence[tuple[Sample, float | None]]
    cpus: int | None = None
    device: str | None = None


class Clock:
    """The clock of a file, in seconds of the day."""

    def __init__(self) -> None:
        self._at: float | None = None
        self._is_known = False

    def passed(self, at: float) -> float | None:
        """Seconds since the line before, over midnight too; None if that line was lost, or the clock does not go on."""
        since = None if self._at is None else (at - self._at) % _DAY_S
        if since is not None and since > _LONGEST_S:
            return None
        was_known, self._at, self._is_known = self._is_known, at, True
        return since if was_known else None

    def lose(self) -> None:
        """A line was lost: nobody knows how long the next sample is."""
        self._is_known = False


def second_of_day(text: str, half: str = "") -> float | None:
    """The second of the day of 15:11:22, or of 03:11:22 with the half AM or PM; None for other texts."""
    match = _OF_DAY.fullmatch(text)
    if match is None:
        return None
    hour = int(match[1])
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "PM" else 0)
    return float(hour * 3600 + int(match[2]) * 60 + int(match[3])) if hour < 24 else None
