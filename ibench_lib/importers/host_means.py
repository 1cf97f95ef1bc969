"""The files of iostat and vmstat next to a log: which log they are of, and what they say of the whole step."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ibench_lib.importers.host_logs import Sample, read_iostat, read_vmstat, use_of_device, use_of_host
from ibench_lib.importers.importer import Row
from ibench_lib.importers.lines import LineBlocks

# Of the time of a step, and in seconds before and after it: how much samples may miss or exceed it.
_OFF, _AROUND_S = 0.1, 10
_SIDECAR = re.compile(r"(.*)\.(sysbench|iostat|vmstat)((?:\.[a-z]{1,4})*)", re.ASCII)
_OF_MICROBENCHMARKS = re.compile(r"((?:.*/)?sb\.)(o|io|vm)(\..*)", re.ASCII)
_TOOLS = {"iostat": "iostat", "vmstat": "vmstat", "io": "iostat", "vm": "vmstat"}


@dataclass
class HostMeans:
    """The means of the samples of files next to a log, and how many there are: a folder may have thousands of logs.

    `devices` are those of iostat that did anything.
    """

    files: list[str] = field(default_factory=list)
    cpus: int | None = None
    devices: dict[str, tuple[Sample, int]] = field(default_factory=dict)
    host: tuple[Sample, int] | None = None

    def add(self, file: str, kind: str, blocks: LineBlocks) -> None:
        """Read a file of iostat or vmstat, whose first sample is of the time since boot."""
        self.files.append(file)
        if kind == "vmstat":
            samples = read_vmstat(blocks)
            self.host = (_mean(samples), len(samples)) if samples else None
            return
        found = read_iostat(blocks, since_boot=True)
        self.cpus = found.cpus
        self.devices = {
            name: (_mean(samples), len(samples))
            for name, samples in found.devices.items()
            if any(sample["reads"] + sample["writes"] for sample in samples)
        }

    def costs(self, step: str, start_s: float, duration_s: float) -> tuple[list[Row], list[str]]:
        """Rows of `step_counters` of a step, and what to say of samples that cannot be used.

        A sample stands for whole seconds, as many as make all of them fit the time of the step.
        """
        rows, said = list[Row](), list[str]()
        if len(self.devices) > 1:
            names = " and ".join(sorted(self.devices)[:3])
            said.append(f"nothing says which device held the data, {names} did something: it has no costs of it")
        found: list[tuple[str, str, tuple[Sample, int]]] = []
        if len(self.devices) == 1:
            found += [("iostat", name, means) for name, means in self.devices.items()]
        if self.host is not None:
            found.append(("vmstat", "", self.host))
        for tool, name, (mean, samples) in found:
            seconds = samples * max(1, round(duration_s / samples))
            if abs(seconds - duration_s) > _OFF * duration_s + _AROUND_S:
                said.append(f"{samples} samples of {tool} are not of its {duration_s:.0f} s: left out")
            elif tool == "iostat":
                rows += use_of_device([mean], name, seconds, step, start_s)
            else:
                rows += use_of_host([mean], self.cpus, seconds, step, start_s)
        return rows, said


def sidecar_of(name: str) -> tuple[str, str] | None:
    """What `log_of` calls the log of X.iostat.txt or sb.vm.X, and the tool; None for other files."""
    found = _SIDECAR.fullmatch(name) or _OF_MICROBENCHMARKS.fullmatch(name)
    return (f"{found[1]}{found[3]}", _TOOLS[found[2]]) if found and found[2] in _TOOLS else None


def log_of(name: str) -> str:
    """The name of a log, without what tells it apart from the files next to it."""
    found = _SIDECAR.fullmatch(name) or _OF_MICROBENCHMARKS.fullmatch(name)
    return f"{found[1]}{found[3]}" if found and found[2] not in _TOOLS else name


def _mean(samples: Sequence[Sample]) -> Sample:
    """The mean of what all samples have."""
    names = [name for name in samples[0] if all(name in sample for sample in samples)]
    return {name: sum(sample[name] for sample in samples) / len(samples) for name in names}
