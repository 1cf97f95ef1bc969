"""What a line says that a command prints of an interval: by a pattern with named groups, or by columns.

A pattern is the user's own, and may take time that grows with the square of a line or worse. It is given so much CPU
for each line, and then it ends the step.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from types import FrameType
from typing import Any

from ibench_lib.client.intervals import Reading, Unreadable

AMOUNTS = ("count", "rate", "total")
SAID = ("time", *AMOUNTS, "latency", "max", "errors")
"""What a line can say. `time`: seconds since the command began, at the end of the interval. `count`: operations in it;
`rate`: operations per second; `total`: operations so far. `latency`, `max`: mean and largest response time in it."""
US_OF = {"us": 1.0, "ms": 1e3, "s": 1e6}
MOST_CPU_S = 0.2
"""What a pattern may use for one line."""

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?|nan|inf", re.ASCII | re.IGNORECASE)


class Pattern:
    """A regular expression that is stopped where it takes too long."""

    def __init__(self, text: str) -> None:
        self._pattern = re.compile(text)
        self._matching = False
        # Where it looks for signals, and it does so every few thousand tries, this raises in the midst of a match.
        signal.signal(signal.SIGVTALRM, self._stop)

    def search(self, line: str) -> re.Match[str] | None:
        """The first match in a line. Raises Unreadable."""
        self._matching = True
        signal.signal(signal.SIGVTALRM, self._stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, MOST_CPU_S)
        try:
            return self._pattern.search(line)
        finally:
            self._matching = False
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        if self._matching:
            self._matching = False
            raise Unreadable(f"the pattern takes more than {MOST_CPU_S:g} s of CPU for it: make it simpler")


class LineReader:
    """Makes readings of lines. `described` is `options.Lines` as plain data."""

    def __init__(self, described: Mapping[str, Any]) -> None:
        self._pattern = Pattern(described["pattern"]) if described["pattern"] is not None else None
        self._ignored = Pattern(described["ignore"]) if described["ignore"] is not None else None
        self._columns: Mapping[str, int] = described["columns"] or {}
        self._separator: str | None = described["separator"]
        self._us = US_OF[described["latency_in"] or "us"]
        self._total = 0.0

    def read(self, line: str) -> Reading | tuple[()] | None:
        """What a line says; empty if it is one to ignore, None if it cannot be read. Raises Unreadable."""
        if self._ignored is not None and self._ignored.search(line):
            return ()
        texts = self._texts(line)
        if texts is None or not all(map(_NUMBER.fullmatch, texts.values())):
            return None
        said = {name: float(text) for name, text in texts.items()}
        if not any(name in said for name in AMOUNTS):
            return None
        count = said.get("count")
        if "total" in said:
            count, before, self._total = said["total"] - self._total, self._total, said["total"]
            if count < 0:
                raise Unreadable(f"its total falls from {before:g} to {self._total:g}")
        return Reading(
            count=count,
            rate=said.get("rate"),
            end_s=said.get("time"),
            errors=said.get("errors"),
            mean_us=said["latency"] * self._us if "latency" in said else None,
            max_us=said["max"] * self._us if "max" in said else None,
        )

    def _texts(self, line: str) -> dict[str, str] | None:
        if self._pattern is not None:
            match = self._pattern.search(line)
            return None if match is None else {name: text for name, text in match.groupdict().items() if text}
        fields = line.split(self._separator)
        if len(fields) < max(self._columns.values()):
            return None
        return {name: fields[number - 1].strip() for name, number in self._columns.items()}
