"""Reads tables of a server's metrics: CSV with the wall time of each reading and a column for each metric.

Scripts of others write the counts of all metrics about once a second, each line with its own time. The log next to such
a table does not say when its test began, but the same script has started both: the first reading is taken to be at the
beginning of the test, and the others as long after it as their times say. A table that goes on for much longer than its
test began at another time, and is not used.

A reading becomes a row of `server_samples` with its real time, by which rates are divided, and a row of
`server_counters` for each value that has changed. Tables are kept packed, because an import may have hundreds of them.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import floor
from typing import TYPE_CHECKING, Any, TypeAlias

from ibench_lib.base.later import later
from ibench_lib.importers.importer import Columns
from ibench_lib.importers.lines import LineBlocks
from ibench_lib.server_figures import FIGURES

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from ibench_lib.servers.flavours import flavour
else:
    np, pa, flavour = later("numpy"), later("pyarrow"), later("ibench_lib.servers.flavours.flavour")

Numbers: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

MOST_VALUES = 4_000_000
"""Of one table: 300 metrics, read each second for three hours."""

FIRST_READING = "the first reading of the server's metrics is taken to be at the beginning of the test"
"""What is taken for granted of a step with readings."""

_TIME = "timestamp"
_MOST_NAMES = 2_000
_NAME = re.compile(r"[a-z]+_[A-Za-z0-9_]{1,60}", re.ASCII)
_ROW = re.compile(r"\d{9,11}(?:\.\d{1,9})?(?:,-?\d{1,18})+", re.ASCII)
# A sample without it is taken for one in which the server did not answer.
_NEEDED = "history_list_length"
_A_SECOND = (0.9, 1.5)
_LONGER_S = 3.0
_BYTES, _AT_ONCE = 8, 64
_SLACK_S = 1e-6  # sums of seconds are not exact


@dataclass(frozen=True)
class Readings:
    """A table: the names of its metrics, the wall time of each reading in seconds, and the values, packed."""

    names: tuple[str, ...]
    times: Numbers
    packed: bytes

    @property
    def values(self) -> Numbers:
        """A row for each metric and a column for each reading."""
        by_place = np.frombuffer(zlib.decompress(self.packed), np.uint8).reshape(_BYTES, -1)
        grown = np.ascontiguousarray(by_place.T).view(np.int64).reshape(len(self.names), -1)
        return np.asarray(grown.cumsum(axis=1))


def read_readings(blocks: LineBlocks) -> Readings | None:
    """The readings of a table; None if it has none, or over `MOST_VALUES` values.

    A line with more or fewer values than the header has names, or that is not later than those before it, is lost.
    """
    names: tuple[str, ...] = ()
    times: list[float] = []
    pieces: list[Numbers] = []
    for first, lines in blocks:
        values: list[str] = []
        for number, text in enumerate(lines, start=first):
            if not names and number != blocks.unterminated and (found := _header(text)):
                names = found
                continue
            time, _, counts = text.partition(",")
            fits = names and number != blocks.unterminated and counts.count(",") == len(names) - 1
            if fits and _ROW.fullmatch(text) and float(time) > (times[-1] if times else 0.0):
                times.append(float(time))
                values.append(counts)
            elif text.strip():
                blocks.lost.add([number])
        if values:
            pieces.append(np.fromstring(",".join(values), np.int64, sep=",").reshape(-1, len(names)))
        if len(times) * len(names) > MOST_VALUES:
            return None
    if not times:
        return None
    grown = np.ascontiguousarray(np.diff(np.concatenate(pieces).T, axis=1, prepend=0))
    # The high bytes of small differences are alike: packed apart from the low ones they take a quarter less.
    by_place = grown.view(np.uint8).reshape(-1, _BYTES).T
    return Readings(names, np.array(times), zlib.compress(by_place.tobytes(), 1))


def _header(text: str) -> tuple[str, ...] | None:
    """The names of the metrics; None for a line that is no header, or of a server that ibench knows no metric of."""
    time, *names = text.split(",")
    known = time == _TIME and len(names) <= _MOST_NAMES and all(map(_NAME.fullmatch, names))
    return tuple(names) if known and len({*names}) == len(names) and _metrics()[_NEEDED] in names else None


@lru_cache
def _metrics() -> dict[str, str]:
    """The metric that each figure of `server_samples` is, of the servers that have it among their metrics."""
    found: dict[str, str] = {}
    for one in flavour.every():
        for column, places in one.places.places.items():
            for kind, name in places:
                if kind == "metric":
                    found.setdefault(column, name)
    return found


@lru_cache
def _set_later() -> frozenset[str]:
    """Metrics whose 0 means nothing until the server has set them."""
    return frozenset(name for one in flavour.every() for name in one.places.set_later)


def misfit(readings: Readings, duration_s: float) -> str | None:
    """Why a table cannot be that of a test of `duration_s`; None if it can."""
    every_s = float(np.median(np.diff(readings.times))) if len(readings.times) > 1 else 0.0
    if not _A_SECOND[0] <= every_s <= _A_SECOND[1]:
        return f"its readings are {every_s:.1f} s apart, and a row stands for about a second"
    span_s = float(readings.times[-1] - readings.times[0])
    if span_s > duration_s + _LONGER_S:
        return f"its readings are of {span_s:.0f} s, its test is of {duration_s:.0f} s: nothing says when it began"
    return None


@dataclass(frozen=True)
class ReadingsOfStep:
    """The readings of a step on the run's clock. `number` tells it apart from other steps: its server may be another.

    Of several readings in one second of the clock only the first is used, and none of a second that is not whole: the
    next step may begin in it.
    """

    readings: Readings
    step: str
    number: int
    start_s: float
    end_s: float

    def counters(self) -> list[Callable[[], Columns]]:
        """What makes rows of `server_counters`: of each metric its first value, and those that differ from the last.

        Each makes those of a few metrics, in the order of their names: rows of all have tens of MB.
        """
        order = sorted(range(len(self.readings.names)), key=self.readings.names.__getitem__)
        parts = [order[first : first + _AT_ONCE] for first in range(0, len(order), _AT_ONCE)]
        return [partial(self._counters_of, part) for part in parts]

    def _counters_of(self, metrics: list[int]) -> Columns:
        """The rows of some metrics, by their places in the table."""
        used, ticks, _ = self._used()
        values = self.readings.values[metrics][:, used]
        changed = np.ones(values.shape, bool)
        changed[:, 1:] = values[:, 1:] != values[:, :-1]
        metric, reading = np.nonzero(changed)
        names = pa.array([self.readings.names[place] for place in metrics], pa.string())
        columns = {"name": names.take(pa.array(metric)), "tick": ticks[reading], "value": values[changed]}
        return Columns(self.step, len(metric), {"source": "metric", "incarnation": self.number, **columns})

    def samples(self) -> Columns:
        """Rows of `server_samples`: the real time of each reading, and the figures that are among the metrics."""
        used, ticks, at_s = self._used()
        values = self.readings.values[:, used]
        places = {name: place for place, name in enumerate(self.readings.names)}
        figures = {column: _set(name, values[places[name]]) for column, name in _metrics().items() if name in places}
        return Columns(self.step, len(ticks), {"tick": ticks, "t_s": at_s, "incarnation": self.number, **figures})

    def _used(self) -> tuple[Numbers, Numbers, Numbers]:
        """Which readings are used, the second of the run's clock of each of these, and when they were made."""
        at_s = self.start_s + (self.readings.times - self.readings.times[0])
        ticks = np.floor(at_s + _SLACK_S).astype(np.int64)
        used = (np.diff(ticks, prepend=ticks[0] - 1) > 0) & (ticks < floor(self.end_s + _SLACK_S))
        return used, ticks[used], at_s[used]


def _set(metric: str, values: Numbers) -> Any:
    """The values of a figure, NULL as long as the server has not set it."""
    unset = np.maximum.accumulate(values != 0) == 0 if metric in _set_later() else np.zeros(len(values), bool)
    return pa.array(values, pa.int64(), mask=unset)


class StepsOf(Sequence[Columns]):
    """The rows of steps, each made when it is asked for: together they may be larger than memory."""

    def __init__(self, makers: Sequence[Callable[[], Columns]]) -> None:
        self._makers = makers

    def __len__(self) -> int:
        return len(self._makers)

    def __getitem__(self, number: Any) -> Any:
        return self._makers[number]()


def missing_figures(readings: Sequence[Readings]) -> dict[str, str]:
    """Why figures of `server_samples` are NULL, by `table.column`: a table has no status and no variables."""
    there = {column for column, name in _metrics().items() if all(name in one.names for one in readings)}
    why = "the table of metrics does not have it"
    return {f"server_samples.{figure.column}": why for figure in FIGURES if figure.column not in there}
