"""Published figures next to what the raw data give: whether they are equal, and else which known mistake explains it.

A reason is named only where the data prove it: repeating the mistake on the data gives the published figure to its last
printed digit, and what the definition gives does not. The mistakes are those of scripts that are in wide use.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

import polars as pl

Status = Literal["equal", "explained", "unexplained", "alone"]
"""`alone`: there is nothing to recompute a figure from."""

ANOTHER_UNIT = "another unit"
"""The kind of a figure that cannot be compared with ours at all."""

MOST_ROUNDED = 0.01
"""Zeros at the end of a published figure count as rounding as long as it is at most this part of it."""

_NEAR = 2
"""Within so many units of its last digit anything may give a figure."""

_DISTINCT = 20
"""By so many units must the neighbouring whole seconds miss a figure, or nearly any figure fits some of them."""

_BEGUN_EARLIER_S = 11
"""Scripts start their clock before the clients: a second for each, and 10 s for the one that makes the table."""

_HEADER_EVERY = 21
"""vmstat repeats its header after so many lines."""


@dataclass(frozen=True)
class Figure:
    """A published figure and what the data say: the columns of the question `recomputed`. `windows`: seconds, rate."""

    metric: str
    published: float
    recomputed: float | None = None
    amount: float | None = None
    duration_s: float | None = None
    clients: int | None = None
    lines: int | None = None
    lines_amount: float | None = None
    windows: Sequence[tuple[int, float]] = ()
    first_rate: float | None = None
    host_samples: int | None = None
    tool_rate: float | None = None
    scan_rows: int | None = None
    latency_avg_ms: float | None = None


@dataclass(frozen=True)
class Explained:
    """What became of a figure. `kind` names the mistake for counts of them, and `reason` says it with its figures.

    `last_s`: of how many last seconds it is the mean; 0: of the whole step; None: of neither.
    """

    status: Status
    kind: str = ""
    reason: str = ""
    last_s: int | None = field(default=None, compare=False)


def decimals_of(value: float) -> int:
    """Digits after the point that a figure was printed with, as far as they are not zeros."""
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def unit_of(value: float) -> float:
    """The unit of the last printed digit: 0.1 of 16,605.8. Of 7,500 it is 100, which is what rounding would leave."""
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    exponent = exponent if isinstance(exponent, int) else 0
    while exponent > 0 and 10.0**exponent / 2 > MOST_ROUNDED * abs(value):
        exponent -= 1
    return float(10.0**exponent)


def is_printed_as(value: float, published: float) -> bool:
    """Whether a value, rounded or cut off to the digits of the published figure, is that figure.

    Zeros at its end may be rounding, but nobody cuts off tens.
    """
    unit, cut = unit_of(published), 10.0 ** -decimals_of(published)
    slack = 1e-9 * max(abs(value), unit)
    return abs(value - published) <= unit / 2 + slack or -slack <= value - published < cut


def explained(figure: Figure) -> Explained:
    """Whether a figure is what the data give, else the first mistake that gives it."""
    if figure.recomputed is None:
        return Explained("alone")
    if is_printed_as(figure.recomputed, figure.published):
        return Explained("equal", last_s=0)
    if abs(figure.recomputed - figure.published) > _NEAR * unit_of(figure.published):
        for mistake in _MISTAKES:
            found = mistake(figure)
            if found is not None:
                return found
    return Explained("unexplained")


def explained_rows(frame: pl.DataFrame) -> list[Explained]:
    """What became of each row of `recomputed`. A column with means of different parts of a step has mixed windows."""
    rows = frame.to_dicts()
    found = [explained(figure_of(row)) for row in rows]
    parts: dict[tuple[str, str, str], set[int]] = defaultdict(set)
    for row, one in zip(rows, found, strict=True):
        if one.last_s is not None:
            parts[row["setup"], row["step"], row["metric"]].add(one.last_s)
    return [
        Explained(one.status, "mixed windows", f"mixed windows: {one.reason}; others are of another part", one.last_s)
        if one.last_s and len(parts[row["setup"], row["step"], row["metric"]]) > 1
        else one
        for row, one in zip(rows, found, strict=True)
    ]


def figure_of(row: dict[str, Any]) -> Figure:
    """A row of `recomputed`."""
    given: dict[str, Any] = {name: row.get(name) for name in Figure.__dataclass_fields__}
    return Figure(**{**given, "windows": [(one["last_s"], one["rate"]) for one in given["windows"] or ()]})


def _own_time(figure: Figure) -> Explained | None:
    """What the tool itself prints, which divides by a time that begins before its clients are there."""
    if figure.tool_rate is None or not is_printed_as(figure.tool_rate, figure.published) or not figure.amount:
        return None
    seconds = figure.amount / figure.tool_rate if figure.tool_rate else math.inf
    said = f"as its tool prints it: divided by {seconds:,.2f} s, not {_T(figure)}"
    return Explained("explained", "the time that its tool divides by", said)


def _whole_seconds(figure: Figure) -> Explained | None:
    """Divided by whole seconds, by a clock that begins before the clients and ends after them."""
    seconds = _whole(figure, figure.amount)
    if seconds is None:
        return None
    return Explained("explained", "whole seconds", f"whole seconds: divided by {seconds:,} s, not {_T(figure)}")


def _stale_tail(figure: Figure) -> Explained | None:
    """What a log's last line has, which it prints before the end, in place of its totals."""
    counted, amount = figure.lines_amount, figure.amount
    if counted is None or amount is None or counted >= amount or not figure.duration_s:
        return None
    seconds = None if is_printed_as(counted / figure.duration_s, figure.published) else _whole(figure, counted)
    if seconds is None and not is_printed_as(counted / figure.duration_s, figure.published):
        return None
    in_whole = f", divided by {seconds:,} whole seconds" if seconds is not None else ""
    return Explained("explained", "stale tail", f"stale tail: {counted:,.0f} of {amount:,.0f} in its lines{in_whole}")


def _long_ticks(figure: Figure) -> Explained | None:
    """Lines counted as seconds, though each took longer."""
    lines, duration = figure.lines, figure.duration_s
    if not lines or not duration or lines >= math.floor(duration):
        return None
    for amount in (figure.amount, figure.lines_amount):
        if amount is not None and is_printed_as(amount / lines, figure.published):
            said = f"ticks longer than a second: {lines:,} lines in {_T(figure)}"
            return Explained("explained", "ticks longer than a second", said)
    return None


def _window(figure: Figure) -> Explained | None:
    """The mean of the last seconds only."""
    for seconds, rate in sorted(figure.windows, reverse=True):
        if is_printed_as(rate, figure.published):
            return Explained("explained", "last part of the step", f"mean of the last {seconds:,} s", seconds)
    return None


def _first_client(figure: Figure) -> Explained | None:
    """The figure of the first of several clients."""
    if (figure.clients or 0) < 2 or figure.first_rate is None or not is_printed_as(figure.first_rate, figure.published):
        return None
    return Explained("explained", "client 1 only", f"client 1 only, of {figure.clients}")


def _header_lines(figure: Figure) -> Explained | None:
    """Means of vmstat over all its lines, of which the repeated headers count as zeros."""
    samples = figure.host_samples
    if figure.metric not in ("cpups", "csps") or not samples or figure.recomputed is None:
        return None
    of_all = -(-(samples + 1) // _HEADER_EVERY)  # the first line is of the time since boot, and no sample
    for headers in (of_all, of_all - 1):
        if headers and is_printed_as(figure.recomputed * samples / (samples + headers), figure.published):
            said = f"header lines averaged as zeros: {headers} next to {samples} samples"
            return Explained("explained", "header lines averaged as zeros", said)
    return None


def _scan(figure: Figure) -> Explained | None:
    """Rows of one table by the mean response of a scan, in thousands."""
    if not figure.scan_rows or not figure.latency_avg_ms:
        return None
    # Rows per millisecond are thousands of rows per second.
    if not is_printed_as(figure.scan_rows / figure.latency_avg_ms, figure.published):
        return None
    return Explained("explained", ANOTHER_UNIT, f"{ANOTHER_UNIT}: thousands of rows that one scan reads per second")


_MISTAKES: tuple[Callable[[Figure], Explained | None], ...] = (
    _scan,
    _own_time,
    _whole_seconds,
    _stale_tail,
    _long_ticks,
    _first_client,
    _header_lines,
    _window,
)


def _whole(figure: Figure, amount: float | None) -> int | None:
    """The whole seconds that give the published rate, if no others do."""
    if amount is None or not figure.duration_s or figure.published <= 0:
        return None
    seconds = round(amount / figure.published)
    most = math.ceil(figure.duration_s) + (figure.clients or 1) + _BEGUN_EARLIER_S
    if not max(1, math.floor(figure.duration_s)) <= seconds <= most:
        return None
    if figure.published / seconds < _DISTINCT * unit_of(figure.published):
        return None
    return seconds if is_printed_as(amount / seconds, figure.published) else None


def _T(figure: Figure) -> str:
    return f"{figure.duration_s:,.2f} s"
