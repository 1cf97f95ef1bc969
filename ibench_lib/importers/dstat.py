"""Reads what dstat prints, as text or as CSV (`--output`): CPU time, context switches, and bytes read and written.

Columns are read by the names in the two lines of the header. The first row is not read: it is blank, or of the time
since boot. Text has two or three digits: k, M and G are steps of 1024 for bytes and of 1000 for counts. Shares of CPUs
are rounded down, so each is divided by their sum. dstat itself counts most interrupts as user mode.

With a column of the time (`-t`, `-T`), a sample has the length that the clock says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ibench_lib.importers.clocked import Clock, Clocked, second_of_day
from ibench_lib.importers.host_logs import Sample
from ibench_lib.importers.lines import LineBlocks

_SAYS_NOTHING = re.compile(
    r'You did not select any stats, using -[a-z]+ by default\.|"(?:pcp-dstat|Dstat|dool)[^"]{0,60} CSV output"'
    r'|"(?:Author|Host|Cmdline):".*',
    re.ASCII,
)
_GROUP, _NAME = re.compile(r"[\w/. -]{1,40}", re.ASCII), re.compile(r"[\w/#-]{1,20}", re.ASCII)
_CPU = {"total-usage", "total-cpu-usage", "total usage", "total cpu usage"}
_DISK = re.compile(r"dsk/([\w.-]{1,60})", re.ASCII)
_TIMES = {"time", "date/time", "epoch"}
_COUNTERS = {
    "usr": "cpu_user_s", "sys": "cpu_system_s", "hiq": "cpu_system_s", "siq": "cpu_system_s", "idl": "cpu_idle_s",
    "wai": "cpu_iowait_s", "stl": "cpu_steal_s",
}  # fmt: skip
_NEEDED = {"usr", "sys", "idl", "wai"}
_BYTES = {"read": "read_bytes", "writ": "written_bytes"}
_SWITCHES = "csw"
_VALUE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)([BkMGT]?)", re.ASCII)
_UNITS = "BkMGT"
_EPOCH = re.compile(r"\d{9,11}(?:\.\d{1,6})?", re.ASCII)
_DATED = re.compile(r"\d\d-\d\d (\d\d:\d\d:\d\d)", re.ASCII)
# Of all shares of a row: each of up to six is rounded down, and the interval is a little longer than dstat takes it.
_LEAST_PCT, _MOST_PCT = 90, 102
_DAY_S = 86_400

Column = tuple[str, str]
"""The group of a column and its name."""


def read_dstat(blocks: LineBlocks) -> Clocked:
    """The samples of a file. Lines that are not understood are lost."""
    reader = _Reader()
    for first, lines in blocks:
        for number, text in enumerate(lines, start=first):
            if not text.strip() or _SAYS_NOTHING.fullmatch(text):
                continue
            if number == blocks.unterminated or not (reader.takes_header(text) or reader.takes(text)):
                blocks.lost.add([number])
    return Clocked(reader.samples, None, reader.disk)


@dataclass
class _Reader:
    """The columns of the last header, and the samples so far. `disk` is that of the columns that count bytes."""

    columns: list[Column] = field(default_factory=list)
    disk: str | None = None
    clock: Clock = field(default_factory=Clock)
    samples: list[tuple[Sample, float | None]] = field(default_factory=list)
    _groups: list[str] = field(default_factory=list)
    _is_first: bool = True

    def takes_header(self, text: str) -> bool:
        """Take in a line of the header. Whether it is one."""
        if text.startswith('"'):
            cells = [cell.strip('"') for cell in text.split(",")]
            if not {*cells} & {*_NEEDED, *_BYTES, _SWITCHES}:
                self._groups = _spread(cells)
                return True
            return self._takes_names(list(zip(self._groups, cells, strict=False)), len(cells))
        if text.startswith("-") and text.rstrip().endswith("-"):
            self._groups = [word.strip("-") for word in text.split()]
            return True
        names = [part.split() for part in text.split("|")]
        if not any({*part} & {*_NEEDED, *_BYTES, _SWITCHES} for part in names):
            return False
        if len(names) != len(self._groups):
            return False
        columns = [(group, name) for group, part in zip(self._groups, names, strict=True) for name in part]
        return self._takes_names(columns, len(columns))

    def _takes_names(self, columns: list[Column], count: int) -> bool:
        """Take in the names of the columns; not if one is damaged, without a group or there twice."""
        whole = all(_GROUP.fullmatch(group) and _NAME.fullmatch(name) for group, name in columns)
        known = whole and len(columns) == count and len({*columns}) == len(columns)
        self.columns = columns if known else []
        disks = [found[1] for group, name in self.columns if name == "read" and (found := _DISK.fullmatch(group))]
        self.disk = disks[0] if len(disks) == 1 else "total" if "total" in disks else None
        return known

    def takes(self, text: str) -> bool:
        """Take in a row. Whether it was understood."""
        row = self._row(text)
        clocks = [value for (_, name), value in row.items() if name in _TIMES]
        at = _second(clocks[0]) if clocks else None
        sample = _sample(row, self.disk)
        if not row or (clocks and at is None) or not (sample or self._is_first):
            self.clock.lose()
            return False
        seconds = self.clock.passed(at) if at is not None else None
        if self._is_first:
            self._is_first = False
            return True
        if sample is None or (clocks and not seconds):
            return False
        self.samples.append((sample, seconds))
        return True

    def _row(self, text: str) -> dict[Column, str]:
        """The values of a row by their columns; empty if it has others.

        The first row of text has blanks for all that takes two readings, and perhaps a time.
        """
        values = _cells(text)
        if self.columns and len(values) == len(self.columns):
            return dict(zip(self.columns, values, strict=True))
        if self._is_first and self.columns and text.count("|") == len(self._groups) - 1:
            times = [value for value in values if _DATED.fullmatch(value)]
            return {("", "time"): times[0]} if times else {("", ""): ""}
        return {}


def _spread(cells: Sequence[str]) -> list[str]:
    """The group of each column: CSV names a group above its first column only."""
    groups: list[str] = []
    for cell in cells:
        groups.append(cell or (groups[-1] if groups else ""))
    return groups


def _cells(text: str) -> list[str]:
    """The values of a row; a time of text has two words."""
    if "|" not in text:
        return [cell.strip().strip('"') for cell in text.split(",")]
    values: list[str] = []
    for part in text.split("|"):
        values += [part.strip()] if _DATED.fullmatch(part.strip()) else part.split()
    return values


def _second(text: str) -> float | None:
    """The second of the day of a time; None for other texts."""
    if _EPOCH.fullmatch(text):
        return float(text) % _DAY_S
    dated = _DATED.fullmatch(text)
    return second_of_day(dated[1]) if dated else None


def _number(text: str, step: int) -> float | None:
    """A value with its unit, whose steps are of 1000 or 1024; None for other texts."""
    match = _VALUE.fullmatch(text)
    if match is None:
        return None
    return float(match[1]) * (step ** _UNITS.index(match[2]) if match[2] else 1)


def _sample(row: dict[Column, str], disk: str | None) -> Sample | None:
    """What a row has by our counters; None if one of its values is no number, or the shares are not those of all."""
    shares: dict[str, float | None] = {}
    found: dict[str, float | None] = {}
    for (group, name), text in row.items():
        if group in _CPU and name in _COUNTERS:
            shares[name] = _number(text, 1000)
        elif group == f"dsk/{disk}" and name in _BYTES:
            found[_BYTES[name]] = _number(text, 1024)
        elif name == _SWITCHES:
            found["context_switches"] = _number(text, 1000)
    if shares.keys() >= _NEEDED:
        known_shares = {name: value for name, value in shares.items() if value is not None}
        total = sum(known_shares.values())
        if len(known_shares) < len(shares) or not _LEAST_PCT <= total <= _MOST_PCT:
            return None
        for name, value in known_shares.items():
            found[_COUNTERS[name]] = (found.get(_COUNTERS[name]) or 0.0) + value / total
    known = {name: value for name, value in found.items() if value is not None}
    return known if known and len(known) == len(found) else None
