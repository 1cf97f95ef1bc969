"""The files of iostat, vmstat, mpstat and dstat next to a log: whose they are, and what they say of the whole step."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ibench_lib.importers.clocked import Clocked
from ibench_lib.importers.dstat import read_dstat
from ibench_lib.importers.host_logs import (
    Sample,
    read_iostat,
    read_vmstat,
    rows_of,
    use_of_device,
    use_of_host,
)
from ibench_lib.importers.importer import Row
from ibench_lib.importers.lines import LineBlocks
from ibench_lib.importers.mpstat import read_mpstat

# Of the time of a step, and in seconds before and after it: how much samples may miss or exceed it.
_OFF, _AROUND_S = 0.1, 10
_OF_MICROBENCHMARKS = re.compile(r"((?:.*/)?sb\.)(o|io|vm)(\..*)", re.ASCII)
_LOG = {"sysbench", "o"}
_TOOLS = {"iostat": "iostat", "vmstat": "vmstat", "io": "iostat", "vm": "vmstat", "mpstat": "mpstat", "dstat": "dstat"}
_CLOCKED = {"mpstat": read_mpstat, "dstat": read_dstat}
_ON_DISK = ("read_bytes", "written_bytes")
_FITTED = "samples of {} are of whole seconds, as many as fit the time of a test"
_OF_DSTAT = "shares of dstat are divided by their sum, because it rounds them down; it counts interrupts as user mode"


@dataclass(frozen=True)
class Mean:
    """The mean of a tool's samples, and how many there are. `seconds` are those of its clock, None if it has none."""

    of: Sample
    samples: int
    seconds: float | None = None

    def covers(self, duration_s: float) -> float:
        """The seconds that the samples stand for. Without a clock each stands for as many whole ones as fit a step."""
        if self.seconds is not None:
            return self.seconds
        return float(self.samples * max(1, round(duration_s / self.samples)))


@dataclass
class HostMeans:
    """The means of the samples of files next to a log, and how many there are: a folder may have thousands of logs.

    `devices` are those of iostat that did anything; `has_iostat` is also true if there is none.
    """

    files: list[str] = field(default_factory=list)
    cpus: int | None = None
    has_iostat: bool = False
    devices: dict[str, Mean] = field(default_factory=dict)
    of_host: dict[str, Mean] = field(default_factory=dict)
    disk: str | None = None

    def add(self, file: str, tool: str, blocks: LineBlocks) -> None:
        """Read a file. The first sample of iostat and vmstat is of the time since boot."""
        self.files.append(file)
        if tool == "iostat":
            self._add_iostat(blocks)
        elif tool == "vmstat":
            if samples := read_vmstat(blocks):
                self.of_host[tool] = Mean(_mean(samples), len(samples))
        else:
            self._add_clocked(tool, _CLOCKED[tool](blocks))

    def _add_iostat(self, blocks: LineBlocks) -> None:
        found = read_iostat(blocks, since_boot=True)
        self.has_iostat = True
        self.cpus = found.cpus or self.cpus
        self.devices = {
            name: Mean(_mean(samples), len(samples))
            for name, samples in found.devices.items()
            if any(sample["reads"] + sample["writes"] for sample in samples)
        }

    def _add_clocked(self, tool: str, found: Clocked) -> None:
        self.cpus = self.cpus or found.cpus
        self.disk = found.device or self.disk
        if found.samples:
            samples, lengths = [sample for sample, _ in found.samples], [seconds for _, seconds in found.samples]
            clocked = [seconds for seconds in lengths if seconds is not None]
            by_clock = len(clocked) == len(lengths)
            mean = _mean(samples, clocked if by_clock else [1.0] * len(samples))
            self.of_host[tool] = Mean(mean, len(samples), sum(clocked) if by_clock else None)

    def costs(self, step: str, start_s: float, duration_s: float) -> tuple[list[Row], list[str]]:
        """Rows of `step_counters` of a step, and what to say of samples that cannot be used.

        What two tools say is taken from the first of iostat, vmstat, mpstat and dstat that says it.
        """
        rows, said = list[Row](), list[str]()
        if len(self.devices) > 1:
            names = " and ".join(sorted(self.devices)[:3])
            said.append(f"nothing says which device held the data, {names} did something: it has no costs of it")
        given: set[tuple[str, str]] = set()
        for tool, mean in self._means():
            seconds = mean.covers(duration_s)
            of_tool = self._costs_of(tool, mean.of, seconds, step, start_s)
            new = [row for row in of_tool if (row["source"], row["counter"]) not in given]
            if new and abs(seconds - duration_s) > _OFF * duration_s + _AROUND_S:
                said.append(f"{mean.samples} samples of {tool} are not of its {duration_s:.0f} s: left out")
                continue
            rows += new
            given |= {(row["source"], row["counter"]) for row in new}
        return rows, said

    def _means(self) -> Iterator[tuple[str, Mean]]:
        """What there is, the tool that is preferred first."""
        if len(self.devices) == 1:
            yield "iostat", next(iter(self.devices.values()))
        yield from ((tool, self.of_host[tool]) for tool in ("vmstat", "mpstat", "dstat") if tool in self.of_host)

    def _costs_of(self, tool: str, mean: Sample, seconds: float, step: str, start_s: float) -> list[Row]:
        """What one tool says of a step."""
        if tool == "iostat":
            return use_of_device([mean], next(iter(self.devices)), seconds, step, start_s)
        if tool == "vmstat":
            return use_of_host([mean], self.cpus, seconds, step, start_s)
        of_host = {name: value for name, value in mean.items() if name not in _ON_DISK}
        cpus = {name: float(self.cpus or 0) if name.startswith("cpu_") else 1.0 for name in of_host}
        grown = {name: value * cpus[name] * seconds for name, value in of_host.items() if cpus[name]}
        rows = rows_of("host", "", grown, seconds, step, start_s)
        if self.disk is not None and not self.has_iostat:
            grown = {name: mean[name] * seconds for name in _ON_DISK if name in mean}
            rows += rows_of("device", self.disk, grown, seconds, step, start_s)
        return rows

    def assumptions(self) -> list[str]:
        """What is taken for granted where these are costs."""
        fitted = ["iostat"] if self.devices else []
        fitted += [tool for tool, mean in self.of_host.items() if mean.seconds is None]
        found = [_FITTED.format(" and ".join(fitted))] if fitted else []
        return [*found, *([_OF_DSTAT] if [*self.of_host] == ["dstat"] else [])]


def sidecar_of(name: str, others: Collection[str] = ()) -> tuple[str, str] | None:
    """What `log_of` calls the log of X.iostat.txt or sb.vm.X, and the tool or one of `others`; None for other files."""
    found = _words_of(name, others)
    return (f"{found[1]}{found[3]}", _TOOLS.get(found[2], found[2])) if found and found[2] not in _LOG else None


def log_of(name: str) -> str:
    """The name of a log, without what tells it apart from the files next to it."""
    found = _words_of(name)
    return f"{found[1]}{found[3]}" if found and found[2] in _LOG else name


def _words_of(name: str, others: Collection[str] = ()) -> re.Match[str] | None:
    """The name of a file, with the word in it that says what has written it as its second group."""
    return _named(tuple(others)).fullmatch(name) or _OF_MICROBENCHMARKS.fullmatch(name)


@lru_cache
def _named(others: tuple[str, ...]) -> re.Pattern[str]:
    words = "|".join(["sysbench", "iostat", "vmstat", *_CLOCKED, *others])
    return re.compile(rf"(.*)\.({words})((?:\.[a-z]{{1,4}})*)", re.ASCII)


def _mean(samples: Sequence[Sample], weights: Sequence[float] | None = None) -> Sample:
    """The mean of what all samples have, each with its weight."""
    weights = weights or [1.0] * len(samples)
    names = [name for name in samples[0] if all(name in sample for sample in samples)]
    return {
        name: sum(sample[name] * weight for sample, weight in zip(samples, weights, strict=True)) / sum(weights)
        for name in names
    }
