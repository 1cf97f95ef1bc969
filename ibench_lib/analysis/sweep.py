"""Throughput over an axis of an experiment: its points with their intervals, and where each line has its peak."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from ibench_lib.analysis.frames import SHORT_S, by_position
from ibench_lib.stats.noise import LEVEL, Noise, level_of_all, noise_of


@dataclass(frozen=True)
class Point:
    """The geometric mean of the complete runs at one place.

    `low` and `high` are its interval if the noise is known, else the range of the runs, and None with one run.
    """

    x: float
    place: str
    value: float
    runs: int
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Peak:
    """The point with the highest rate, and the places that cannot be told from it, in their order.

    `clear` is False if the noise is not known, so that nothing can be told apart.
    """

    point: Point
    alike: tuple[Point, ...]
    clear: bool


@dataclass(frozen=True)
class Line:
    """One dbms over the axis. `position` is its place among the dbms, from 1."""

    dbms: str
    position: int
    points: tuple[Point, ...]
    peak: Peak


@dataclass(frozen=True)
class Sweep:
    """The lines of one step. `known`: whether the noise of the repeats is, so that points have intervals."""

    lines: tuple[Line, ...]
    known: bool


def swept_steps(frame: pl.DataFrame) -> Iterator[tuple[str, str, str, pl.DataFrame]]:
    """(axis, setup, step, rows) of each chart, without the places at which nobody took a second for the step.

    A chart has two places at least: steps of which fewer are left have none.
    """
    if frame.is_empty():
        return
    place = ["axis", "setup", "step", "x"]
    took = frame.filter(pl.col("step_status") == "complete").group_by(place).agg(pl.max("duration_s"))
    long = frame.join(took.filter(pl.col("duration_s") < SHORT_S), on=place, how="anti", maintain_order="left")
    for (axis, setup, step), rows in long.group_by(place[:3], maintain_order=True):
        if rows["x"].n_unique() > 1:
            yield str(axis), str(setup), str(step), rows


def sweep_of(frame: pl.DataFrame) -> Sweep:
    """The lines of one axis, setup and step (`sweep`). Steps that did not complete, or did nothing, have no point."""
    done = frame.filter((pl.col("step_status") == "complete") & (pl.col("throughput") > 0))
    table: dict[str, dict[int, float]] = {}
    places: dict[tuple[str, float], str] = {}
    for row in done.to_dicts():
        table.setdefault(_key(row["dbms"], row["x"]), {})[row["repeat"]] = math.log(row["throughput"])
        places[row["dbms"], row["x"]] = row["place"]
    noise = noise_of(table)
    positions = dict(done.select("dbms", "dbms_position").iter_rows())
    lines = []
    for name in by_position(done):
        points = tuple(
            _point(name, x, place, table, noise) for (dbms, x), place in sorted(places.items()) if dbms == name
        )
        lines.append(Line(name, positions[name], points, _peak(name, points, noise)))
    return Sweep(tuple(lines), noise.known)


def _key(dbms: str, x: float) -> str:
    return f"{dbms} {x!r}"


def _point(name: str, x: float, place: str, table: dict[str, dict[int, float]], noise: Noise) -> Point:
    key = _key(name, x)
    values = table[key].values()
    ends = noise.interval(key)
    if ends is None and len(values) > 1:
        ends = min(values), max(values)
    low, high = (math.exp(end) for end in ends) if ends else (None, None)
    return Point(x, place, math.exp(noise.means[key]), len(values), low, high)


def _peak(name: str, points: tuple[Point, ...], noise: Noise) -> Peak:
    """Which places are as good as the highest, judged together."""
    best = max(points, key=lambda point: (point.value, -point.x))
    others = {point: noise.difference(_key(name, best.x), _key(name, point.x)) for point in points if point != best}
    known = {point: difference for point, difference in others.items() if difference is not None}
    level = level_of_all([difference.p for difference in known.values()]) if known else LEVEL
    alike = tuple(point for point, difference in known.items() if difference.p > level)
    return Peak(best, alike, len(known) == len(others))
