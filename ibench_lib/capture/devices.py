"""Block devices, once a second, from /proc/diskstats."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from ibench_lib.capture.block_device import device_below
from ibench_lib.capture.collector import Collector
from ibench_lib.capture.proc import ProcFile

_SECTOR = 512  # the unit of /proc/diskstats, whatever the device's own is
_MS_PER_S = 1000
_VIRTUAL = re.compile(r"(loop|ram|zram)\d+")


class Devices(Collector):
    """Whole devices; loop, ram and zram devices only once they do something, or where the data lies.

    What such a device had before it did something comes first, so that nothing is missing from its differences.
    """

    name: ClassVar[str] = "devices"
    tables: ClassVar[tuple[str, ...]] = ("device_samples",)
    block: ClassVar[Path] = Path("/sys/block")

    def open(self) -> None:
        self._stats = ProcFile("/proc/diskstats")
        datadir = self.scene.datadir
        self._data, reason = (None, "the server is remote") if datadir is None else device_below(datadir)
        if reason is not None:
            self.null_reasons["device_samples.holds_data"] = f"no device is marked: {reason}"
        self._whole: dict[str, bool] = {}
        self._idle: dict[str, dict[str, Any]] = {}
        self._active: set[str] = set()

    def counters(self, now_s: Callable[[], float], *, starts: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        for columns in self._now(now_s):
            name = columns["device"]
            if columns["holds_data"] or name in self._active or not _VIRTUAL.fullmatch(name):
                yield "device_samples", columns

    def _now(self, now_s: Callable[[], float]) -> Iterator[dict[str, Any]]:
        t_s = now_s()
        for columns in devices(self._stats.read()):
            name = columns["device"]
            if name == self._data or self._is_whole(name):
                yield {"t_s": t_s, "holds_data": name == self._data, **columns}

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        for columns in self._now(now_s):
            name = columns["device"]
            if columns["flushes"] is None:
                for column in ("flushes", "flush_s"):
                    self.null_reasons[f"device_samples.{column}"] = "this kernel, before 5.5, does not count flushes"
            row = {"tick": tick, **columns}
            if name != self._data and _VIRTUAL.fullmatch(name) and name not in self._active:
                before = self._idle.get(name, row)
                self._idle[name] = row
                if (before["reads"], before["writes"]) == (row["reads"], row["writes"]):
                    continue
                self._active.add(name)
                self.emit("device_samples", **before)
            self.emit("device_samples", **row)

    def _is_whole(self, name: str) -> bool:
        if name not in self._whole:
            self._whole[name] = (self.block / name.replace("/", "!")).exists()
        return self._whole[name]


def devices(text: bytes) -> Iterator[dict[str, Any]]:
    """The columns of each device in a /proc/diskstats, partitions included.

    The fields are those of Documentation/admin-guide/iostats.rst; times there are in milliseconds.
    """
    for line in text.decode(errors="replace").splitlines():
        _, _, name, *rest = line.split()
        if len(rest) < 11:  # a partition before Linux 2.6.25
            continue
        number = [int(part) for part in rest]
        flushes = number[15:17] if len(number) >= 17 else None
        yield {
            "device": name,
            "reads": number[0],
            "read_bytes": number[2] * _SECTOR,
            "read_s": number[3] / _MS_PER_S,
            "writes": number[4],
            "written_bytes": number[6] * _SECTOR,
            "write_s": number[7] / _MS_PER_S,
            "in_flight": number[8],
            "busy_s": number[9] / _MS_PER_S,
            "queue_s": number[10] / _MS_PER_S,
            "flushes": flushes[0] if flushes else None,
            "flush_s": flushes[1] / _MS_PER_S if flushes else None,
        }
