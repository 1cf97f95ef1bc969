"""What a driven program says of its intervals, and the seconds of the step that they become."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LONGEST_S = 1.5
"""A longer interval between two lines says nothing of the single seconds in it."""
AHEAD_S = 1.0
"""By so much the program's clock may be ahead of the arrival of its lines."""
_ROUNDING = 1e-6


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a line says of the interval that ends with it: either a `count` of operations or their `rate` per second.

    `end_s` is the end of the interval by the program's own clock, which begins at 0; None: when the line arrived.
    `errors` are counted. `mean_us` and `max_us` are response times in microseconds. None: the line does not say.
    """

    count: float | None = None
    rate: float | None = None
    end_s: float | None = None
    errors: float | None = None
    mean_us: float | None = None
    max_us: float | None = None


@dataclass(frozen=True, kw_only=True)
class IntervalCount:
    """What a program has counted of one operation in an interval, from `start_s` to `end_s` on the step's clock.

    Only a program that begins with the step says this (`Program.ready`). `bins`: responses by bin of our histograms,
    from the moment at which an operation was due if `intended`, else from the one at which it was sent. None: it does
    not count them. `by_second` is False for what it says of a whole run: that belongs to no second.
    """

    operation: str
    start_s: float
    end_s: float
    count: int
    errors: int | None = None
    retries: int | None = None
    bins: Mapping[int, int] | None = None
    intended: bool = False
    by_second: bool = True


class Unreadable(ValueError):
    """A line that should say something of an interval and cannot be right, such as one with a negative rate.

    `position` : which of the readings that arrived together it is.
    """

    position = 0


class Seconds:
    """Whole seconds of a step, made of the intervals that a program reports.

    An interval is taken as even: its operations belong to the seconds that it covers by the time that it has in each.
    So the sum is exact, and a second may have operations of the interval before or after it. Seconds in an interval
    that is longer than `LONGEST_S` are not known, and get no row; their operations count in the totals.

    Attributes
    ----------
    end_s : end of the last interval, from the step's start.
    lacks : what at least one line did not say, of errors, mean_us and max_us; no line says retries and bins.
    from_rates : whether a line had a rate, not a count.
    together : lines without a time that arrived together with others, so that their intervals are not known.
    """

    retries = None

    def __init__(self, operation: str, emit: Callable[[dict[str, Any]], None]) -> None:
        self.end_s = 0.0
        self.lacks = {"retries", "bins"}
        self.from_rates = False
        self.together = 0
        self.lines = 0
        self._operation, self._emit = operation, emit
        self._offset_s: float | None = None
        self._second, self._known = 0, True
        self._sums = {"ops": 0.0, "errors": 0.0, "sum_us": 0.0}
        self._told = dict(self._sums)
        self._max_us: dict[int, float] = {}

    @property
    def ops(self) -> int:
        """Operations of all intervals."""
        return _whole(self._sums["ops"])

    @property
    def errors(self) -> int | None:
        """Errors of all intervals; None if a line does not say."""
        return None if "errors" in self.lacks or not self.lines else _whole(self._sums["errors"])

    def add(self, readings: Sequence[Reading], arrived_s: float) -> None:
        """Take in what has arrived together, in its order. `arrived_s` counts from the step's start.

        Raises
        ------
        Unreadable : a time that does not go forward. What came before is taken in.
        """
        timed = [reading for reading in readings if reading.end_s is not None]
        if timed and len(timed) < len(readings):
            raise Unreadable("some lines have a time and others have none")
        if not timed:
            self._add_untimed(readings, arrived_s)
            return
        if self._offset_s is None:
            # Lines that arrive together were held back: the last of them is the nearest to its time.
            self._offset_s = max(0.0, arrived_s - max(reading.end_s or 0.0 for reading in timed))
            self.end_s = self._skip_to(self._offset_s)
        for position, reading in enumerate(timed):
            assert reading.end_s is not None
            end_s = self._offset_s + reading.end_s
            why = None
            if end_s > arrived_s + AHEAD_S:
                why = f"its clock says {reading.end_s:g} s, but it has run for {arrived_s:.1f} s"
            elif end_s <= self.end_s:
                why = f"its time does not go forward: {reading.end_s:g} s comes after {self._clock_s:g} s"
            if why:
                error = Unreadable(why)
                error.position = position
                raise error
            self._clock_s = reading.end_s
            self._add_interval(reading, end_s)

    _clock_s = 0.0

    def finish(self) -> None:
        """Hand over the last second, as far as it went."""
        if self._known and self.end_s > self._second + _ROUNDING:
            self._hand_over()

    def _skip_to(self, start_s: float) -> float:
        """The program has begun its first interval: nothing was done before."""
        self._add_interval(Reading(count=0, errors=0, mean_us=0, max_us=0), start_s, counts=False)
        return start_s

    def _add_untimed(self, readings: Sequence[Reading], arrived_s: float) -> None:
        if not readings:
            return
        self.together += len(readings) - 1
        if len(readings) == 1:
            self._add_interval(readings[0], max(arrived_s, self.end_s))
            return
        seconds = max(arrived_s, self.end_s) - self.end_s
        amounts = [_count(reading, seconds / len(readings)) for reading in readings]
        self.from_rates |= any(reading.count is None for reading in readings)
        means = [reading.mean_us for reading in readings]
        total = sum(amounts)
        weighted = [mean * amount for mean, amount in zip(means, amounts, strict=True) if mean is not None]
        errors = [reading.errors for reading in readings if reading.errors is not None]
        largest = [reading.max_us for reading in readings if reading.max_us is not None]
        every = len(readings)
        merged = Reading(
            count=total,
            errors=sum(errors) if len(errors) == every else None,
            mean_us=(sum(weighted) / total if total else 0.0) if len(weighted) == every else None,
            max_us=max(largest) if len(largest) == every else None,
        )
        self._add_interval(merged, max(arrived_s, self.end_s))

    def _add_interval(self, reading: Reading, end_s: float, *, counts: bool = True) -> None:
        start_s, seconds = self.end_s, end_s - self.end_s
        is_short = seconds <= LONGEST_S or not counts
        amount = _count(reading, seconds)
        added = {"ops": amount, "errors": reading.errors or 0.0, "sum_us": (reading.mean_us or 0.0) * amount}
        if counts:
            self.lines += 1
            self.from_rates |= reading.count is None
            for name in ("errors", "mean_us", "max_us"):
                if getattr(reading, name) is None:
                    self.lacks.add(name)
            if reading.max_us is not None:
                middle = max(self._second, math.floor((start_s + end_s) / 2))
                self._max_us[middle] = max(self._max_us.get(middle, 0.0), reading.max_us)
        before = dict(self._sums)
        while end_s >= self._second + 1:
            share = (self._second + 1 - start_s) / seconds
            for name, value in added.items():
                self._sums[name] = before[name] + value * share
            self.end_s = self._second + 1
            self._known &= is_short
            self._hand_over() if self._known else self._leave_out()
            self._second, self._known = self._second + 1, True
        for name, value in added.items():
            self._sums[name] = before[name] + value
        if end_s > self._second + _ROUNDING:
            self._known &= is_short
        self.end_s = end_s

    def _leave_out(self) -> None:
        self._told = dict(self._sums)
        self._max_us.pop(self._second, None)

    def _hand_over(self) -> None:
        ops, errors = (_whole(self._sums[name]) - _whole(self._told[name]) for name in ("ops", "errors"))
        sum_us = self._sums["sum_us"] - self._told["sum_us"]
        self._told = dict(self._sums)
        has_mean = self.lines and "mean_us" not in self.lacks
        self._emit(
            {
                "operation": self._operation,
                "second": self._second,
                "ops": ops,
                "rows": None,
                "errors": errors if self.lines and "errors" not in self.lacks else None,
                "retries": None,
                "unknown": None,
                "service_sum_us": max(0.0, sum_us) if has_mean else None,
                "service_max_us": self._max_us.pop(self._second, None),
                "service_bins": None,
                "service_counts": None,
            }
        )


def _count(reading: Reading, seconds: float) -> float:
    return reading.count if reading.count is not None else (reading.rate or 0.0) * seconds


def _whole(value: float) -> int:
    return math.floor(value + _ROUNDING)


def require_possible(reading: Reading) -> None:
    """Whether a line may say this. Raises Unreadable."""
    for name in ("count", "rate", "end_s", "errors", "mean_us", "max_us"):
        value = getattr(reading, name)
        if value is not None and not 0 <= value <= 1e15:  # NaN is neither
            raise Unreadable(f"its {name.removesuffix('_s').removesuffix('_us')} is {value:g}")
    if (reading.count is None) == (reading.rate is None):
        raise Unreadable("it has to say either a count or a rate")


class CountedSeconds:
    """Seconds of a step from intervals of about a second: each belongs whole to the second that holds its middle.

    So all counts are those of the program. Where an interval is longer than `LONGEST_S`, the program itself stood
    still, and all of it belongs to its last second.

    Attributes
    ----------
    end_s : end of the last interval, from the step's start.
    lacks : what at least one interval does not have, of errors, retries and bins.
    long_s : the lengths of intervals in which the program stood still.
    """

    from_rates, together = False, 0

    def __init__(self, emit: Callable[[dict[str, Any]], None]) -> None:
        self.end_s = 0.0
        self.lacks: set[str] = {"mean_us", "max_us"}
        self.long_s: list[float] = []
        self.ops, self.errors, self.retries = 0, None, None
        self._emit = emit
        self._second = 0
        self._rows: dict[str, dict[str, Any]] = {}

    ops: int
    errors: int | None
    retries: int | None

    def add(self, readings: Sequence[IntervalCount], arrived_s: float) -> None:
        """Take in what has arrived together. `arrived_s` counts from the step's start. Raises Unreadable."""
        for position, reading in enumerate(readings):
            if why := self._wrong(reading, arrived_s):
                error = Unreadable(why)
                error.position = position
                raise error
            self._add(reading)

    def finish(self) -> None:
        """Hand over the last second, as far as it went."""
        rows, self._rows = self._rows, {}
        for row in rows.values():
            self._emit(row)

    def _wrong(self, reading: IntervalCount, arrived_s: float) -> str | None:
        counts = [reading.count, reading.errors or 0, reading.retries or 0, *(reading.bins or {}).values()]
        if min(counts) < 0 or max(counts) > 1 << 53:
            return f"a count of {reading.operation} is impossible"
        if not 0 <= reading.start_s <= reading.end_s <= arrived_s + AHEAD_S:
            span = f"from {reading.start_s:g} s to {reading.end_s:g} s"
            return f"its interval is {span}, but it has run for {arrived_s:.1f} s"
        if reading.by_second and _second_of(reading) < self._second:
            return f"its time does not go forward: {reading.end_s:g} s comes after {self.end_s:g} s"
        return None

    def _add(self, reading: IntervalCount) -> None:
        self.ops += reading.count
        self.end_s = max(self.end_s, reading.end_s)
        for name in ("errors", "retries", "bins"):
            value = getattr(reading, name)
            if value is None:
                self.lacks.add(name)
            elif name != "bins":
                setattr(self, name, (getattr(self, name) or 0) + value)
        if not reading.by_second:
            return
        if reading.end_s - reading.start_s > LONGEST_S:
            self.long_s.append(reading.end_s - reading.start_s)
        second = _second_of(reading)
        if second > self._second:
            self.finish()
            self._second = second
        row = self._rows.setdefault(
            reading.operation,
            {
                "operation": reading.operation,
                "second": second,
                "ops": 0,
                **dict.fromkeys(
                    ("rows", "errors", "retries", "unknown", "service_sum_us", "service_max_us", "service_bins",
                     "service_counts")
                ),
            },
        )  # fmt: skip
        row["ops"] += reading.count
        for name in ("errors", "retries"):
            if getattr(reading, name) is not None:
                row[name] = (row[name] or 0) + getattr(reading, name)
        if reading.bins is not None:
            timing = "intended" if reading.intended else "service"
            merged = dict(zip(row.get(f"{timing}_bins") or (), row.get(f"{timing}_counts") or (), strict=True))
            for bin_number, count in reading.bins.items():
                merged[bin_number] = merged.get(bin_number, 0) + count
            held = sorted(number for number, count in merged.items() if count)
            row |= {f"{timing}_bins": held, f"{timing}_counts": [merged[number] for number in held]}


def _second_of(reading: IntervalCount) -> int:
    if reading.end_s - reading.start_s > LONGEST_S:
        return max(0, math.ceil(reading.end_s - _ROUNDING) - 1)
    return math.floor((reading.start_s + reading.end_s) / 2)
