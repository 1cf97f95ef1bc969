"""Reads what mpstat prints: the CPU time of all CPUs together, second by second, and the number of CPUs.

Columns are read by their names. A line of one CPU is understood and not kept: that of all CPUs has it. Time of guests
is in user mode and time of interrupts in the kernel, as the kernel itself counts them. A clock stands on each line, so
a sample has the length that the clock says. One whose line before it was lost has no known length and is lost, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ibench_lib.importers.clocked import Clock, Clocked, second_of_day
from ibench_lib.importers.host_logs import NUMBER, Sample, cpus_of
from ibench_lib.importers.lines import LineBlocks

_OF_ONE_CPU = re.compile(r"\d\d:\d\d:\d\d(?: [AP]M)? +\d{1,5}(?: +\d{1,3}\.\d\d){5,12}", re.ASCII)
_MEANS = "Average:"
_COUNTERS = {
    "%usr": "cpu_user_s", "%user": "cpu_user_s", "%nice": "cpu_user_s", "%guest": "cpu_user_s",
    "%gnice": "cpu_user_s", "%sys": "cpu_system_s", "%system": "cpu_system_s", "%irq": "cpu_system_s",
    "%soft": "cpu_system_s", "%iowait": "cpu_iowait_s", "%steal": "cpu_steal_s", "%idle": "cpu_idle_s",
}  # fmt: skip
_NEEDED = {"cpu_user_s", "cpu_system_s", "cpu_iowait_s", "cpu_idle_s"}
_OTHERS = {"intr/s"}
_OFF_PCT = 1  # two digits do not add up to 100


def read_mpstat(blocks: LineBlocks) -> Clocked:
    """The samples of all CPUs. Lines that are not understood are lost."""
    cpus: int | None = None
    reader = _Reader()
    for first, lines in blocks:
        for number, text in enumerate(lines, start=first):
            if _OF_ONE_CPU.fullmatch(text):
                continue
            words = text.split()
            if not words or words[0] == _MEANS:
                continue
            if cpus is None and (found := cpus_of(text)) is not None:
                cpus = found
            elif number == blocks.unterminated or not reader.takes(words):
                blocks.lost.add([number])
    return Clocked(reader.samples, cpus)


@dataclass
class _Reader:
    """The columns of the last header, and the samples so far."""

    columns: list[str] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)
    samples: list[tuple[Sample, float | None]] = field(default_factory=list)

    def takes(self, words: Sequence[str]) -> bool:
        """Take in a header or the line of all CPUs. Whether it was understood."""
        half = words[1] if words[1:2] in (["AM"], ["PM"]) else ""
        at, (which, *texts) = second_of_day(words[0], half), words[1 + bool(half) :] or [""]
        is_header = which == "CPU"
        if is_header:
            self.columns = texts if _is_header(texts) else []
        sample = _sample(self.columns, texts) if which == "all" else None
        if at is None or not (sample or is_header):
            self.clock.lose()
            return False
        seconds = self.clock.passed(at)
        if sample and seconds:
            self.samples.append((sample, seconds))
        return bool(self.columns) if is_header else bool(seconds)


def _is_header(columns: Sequence[str]) -> bool:
    found = {_COUNTERS[name] for name in columns if name in _COUNTERS}
    return found >= _NEEDED and {*columns} <= _COUNTERS.keys() | _OTHERS and len({*columns}) == len(columns)


def _sample(columns: Sequence[str], texts: Sequence[str]) -> Sample | None:
    """The shares of a line, by our counters; None if they do not add up to all."""
    if not columns or len(texts) != len(columns) or not all(map(NUMBER.fullmatch, texts)):
        return None
    shares: dict[str, float] = {}
    for name, text in zip(columns, texts, strict=True):
        if name in _COUNTERS:
            shares[_COUNTERS[name]] = shares.get(_COUNTERS[name], 0.0) + float(text) / 100
    return shares if abs(100 * sum(shares.values()) - 100) <= _OFF_PCT else None
