"""Readers of what iostat and vmstat print, of any version, for importers whose folders have such files.

Both print a sample each few seconds, without a clock. Columns are read by the names in their headers, because their
order and their number have changed with the versions. A sample of which a line is not understood is left out as a
whole, so no sample has figures that it did not have. The interval is not printed: the importer knows it from the script
that started them, and gives it to `use_of_devices` and `use_of_host`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ibench_lib.importers.importer import Row
from ibench_lib.importers.lines import LineBlocks

_HOST = re.compile(r"Linux \S+ \(.*\)\s.*\(([1-9]\d{0,4}) CPU\)", re.ASCII)
_LONGEST_HEAD = 500  # the time that this pattern takes grows with the square of the line
NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,6})?", re.ASCII)
_DEVICE = re.compile(r"[A-Za-z][\w.!/-]{0,60}", re.ASCII)
_CLOCK = re.compile(r"\d{1,4}[/-]\d\d[/-]\d\d(?:\d\d)?[ T]\d\d:\d\d:\d\d(?: [AP]M|[+-]\d{4})?", re.ASCII)
_CPU_NAMES = ["%user", "%nice", "%system", "%iowait", "%steal", "%idle"]
# Of a column of iostat, the counter that it is the rate of, and by what it is multiplied.
_RATES = {
    "r/s": ("reads", 1.0), "w/s": ("writes", 1.0), "f/s": ("flushes", 1.0),
    "rkB/s": ("read_bytes", 1024.0), "wkB/s": ("written_bytes", 1024.0),
    "rMB/s": ("read_bytes", 1024.0**2), "wMB/s": ("written_bytes", 1024.0**2),
    "rsec/s": ("read_bytes", 512.0), "wsec/s": ("written_bytes", 512.0),
    "%util": ("busy_s", 0.01), "aqu-sz": ("queue_s", 1.0), "avgqu-sz": ("queue_s", 1.0),
}  # fmt: skip
# Times of a request in ms: a second has as many of them as requests.
_WAITS = {"r_await": ("reads", "read_s"), "w_await": ("writes", "write_s"), "f_await": ("flushes", "flush_s")}
_COLUMN, _NAME = re.compile(r"[%\w/-]+", re.ASCII), re.compile(r"[A-Za-z]+|[+-]\d\d", re.ASCII)
_NEEDED = {"r/s", "w/s"}
_VMSTAT = ["r", "b", "swpd", "free"]
_VMSTAT_NEEDED = {"cs", "us", "sy", "id", "wa"}
_CPU_OF_VMSTAT = {
    "us": "cpu_user_s",
    "sy": "cpu_system_s",
    "wa": "cpu_iowait_s",
    "st": "cpu_steal_s",
    "id": "cpu_idle_s",
}
_WHOLE = re.compile(r"\d{1,15}", re.ASCII)
_OFF_PCT = 3  # whole numbers do not add up to 100

Sample = Mapping[str, float]


@dataclass(frozen=True)
class Iostat:
    """What iostat has printed: the CPUs of the host, and samples of each device, as rates of our counters."""

    cpus: int | None
    devices: Mapping[str, Sequence[Sample]]


@dataclass
class _Block:
    """A sample that is being read."""

    columns: list[str] = field(default_factory=list)
    devices: dict[str, dict[str, float]] = field(default_factory=dict)
    damaged: bool = False


def read_iostat(blocks: LineBlocks, *, since_boot: bool = False) -> Iostat:
    """The samples of `iostat -x`. Lines that are not understood are lost, with the sample that has them.

    Parameters
    ----------
    since_boot : whether the first sample is of the time since boot, as without the option `-y`; it is left out.
    """
    cpus: int | None = None
    samples: list[_Block] = []
    block, cpu_next = _Block(), False
    for first, lines in blocks:
        for number, text in enumerate(lines, start=first):
            words = text.split()
            if not words:
                block.columns = []
            elif number == blocks.unterminated:
                block.damaged = True  # it may be cut
                blocks.lost.add([number])
            elif words[0].rstrip(":") == "Device":
                block = _Block(words[1:])
                samples.append(block)
                if not _is_header(block.columns):
                    block.columns, block.damaged = [], True
                    blocks.lost.add([number])
            elif block.columns:
                if not _take_device(block, words):
                    block.damaged = True
                    blocks.lost.add([number])
            elif words[0] == "avg-cpu:" and words[1:] == _CPU_NAMES:
                cpu_next = True
            elif cpu_next and all(map(NUMBER.fullmatch, words)) and len(words) == len(_CPU_NAMES):
                cpu_next = False
            elif cpus is None and (found := cpus_of(text)) is not None:
                cpus = found
            elif not _CLOCK.fullmatch(text.strip()):
                block.damaged = True
                blocks.lost.add([number])
    devices: dict[str, list[Sample]] = {}
    for block in samples[1:] if since_boot else samples:
        for name, figures in block.devices.items() if not block.damaged else ():
            devices.setdefault(name, []).append(figures)
    return Iostat(cpus, devices)


def cpus_of(text: str) -> int | None:
    """The number of CPUs in the first line of iostat and mpstat, which has the name of the host, too; else None."""
    found = _HOST.fullmatch(text.strip()) if len(text) <= _LONGEST_HEAD else None
    return int(found[1]) if found else None


def _is_header(columns: Sequence[str]) -> bool:
    return {*columns} >= _NEEDED and len({*columns}) == len(columns) and all(map(_COLUMN.fullmatch, columns))


def _take_device(block: _Block, words: Sequence[str]) -> bool:
    """Take in the line of a device. Whether it was understood."""
    name, *texts = words
    if not _DEVICE.fullmatch(name) or name in block.devices or len(texts) != len(block.columns):
        return False
    if not all(map(NUMBER.fullmatch, texts)):
        return False
    printed = dict(zip(block.columns, map(float, texts), strict=True))
    figures = {counter: printed[column] * factor for column, (counter, factor) in _RATES.items() if column in printed}
    for column, (requests, counter) in _WAITS.items():
        if column in printed and requests in figures:
            figures[counter] = figures[requests] * printed[column] / 1000
    block.devices[name] = figures
    return True


def read_vmstat(blocks: LineBlocks) -> list[Sample]:
    """The samples of vmstat, by the names of its columns, without the first one, which is of the time since boot."""
    columns: list[str] = []
    samples: list[Sample | None] = []
    for first, lines in blocks:
        for number, text in enumerate(lines, start=first):
            words = text.split()
            if not words or words[0] in ("procs", "--procs--"):
                continue
            if words[: len(_VMSTAT)] == _VMSTAT:
                known = {*words} >= _VMSTAT_NEEDED and len({*words}) == len(words) and all(map(_NAME.fullmatch, words))
                columns = words if known else []
                if not known:
                    blocks.lost.add([number])
                continue
            sample = None if number == blocks.unterminated else _vmstat_row(columns, words)
            if sample is None:
                blocks.lost.add([number])
            if columns:
                samples.append(sample)
    return [sample for sample in samples[1:] if sample is not None and sample != samples[0]]


def _vmstat_row(columns: Sequence[str], words: Sequence[str]) -> Sample | None:
    """A line of vmstat by its columns; with the option -t, a time zone stands for a date and a time."""
    texts = list(words)
    names = list(columns)
    if names and not names[-1].islower() and len(words) == len(columns) + 1:
        names, texts = names[:-1], texts[:-2]
    if not names or len(texts) != len(names) or not all(map(_WHOLE.fullmatch, texts)):
        return None
    figures = dict(zip(names, map(float, texts), strict=True))
    all_pct = sum(figures.get(name, 0.0) for name in _CPU_OF_VMSTAT) + figures.get("gu", 0.0)
    return figures if abs(all_pct - 100) <= _OFF_PCT else None


def use_of_device(samples: Sequence[Sample], device: str, every_s: float, step: str, start_s: float) -> list[Row]:
    """Rows of `step_counters` of the device that holds the data: by how much its counters grew in the samples."""
    counters = [name for name in samples[0] if all(name in sample for sample in samples)] if samples else []
    sums = {name: sum(sample[name] for sample in samples) * every_s for name in counters}
    return rows_of("device", device, sums, len(samples) * every_s, step, start_s)


def use_of_host(samples: Sequence[Sample], cpus: int | None, every_s: float, step: str, start_s: float) -> list[Row]:
    """Rows of `step_counters` of the host: context switches, and CPU seconds if the number of its CPUs is known.

    vmstat prints shares of all CPUs. The time of guests (`gu`) is in user mode.
    """
    sums = {"context_switches": sum(sample["cs"] for sample in samples) * every_s}
    if cpus is not None:
        for name, counter in _CPU_OF_VMSTAT.items():
            share = sum(sample.get(name, 0.0) + (sample.get("gu", 0.0) if name == "us" else 0.0) for sample in samples)
            sums[counter] = share / 100 * cpus * every_s
    return rows_of("host", "", sums if samples else {}, len(samples) * every_s, step, start_s)


def rows_of(source: str, name: str, grown: Mapping[str, float], seconds: float, step: str, start_s: float) -> list[Row]:
    """Rows of `step_counters`: by how much each counter grew in the first `seconds` of a step."""
    ends: dict[str, Any] = {"start_s": start_s, "start_value": 0.0, "end_s": start_s + seconds}
    return [
        {"step": step, "source": source, "name": name, "counter": counter, **ends, "end_value": value}
        for counter, value in grown.items()
    ]
