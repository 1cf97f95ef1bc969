"""Every dbms against its base: ratios with the noise of all dbms of a step, judged together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import polars as pl

from ibench_lib.ask.bases import Bases, bases
from ibench_lib.show.frames import by_position, short_steps, steps_of
from ibench_lib.show.verdicts import Ratio, difference_of, ratio_of
from ibench_lib.stats.noise import Difference, Noise, level_of_all, noise_of

Place = tuple[str, str, str, str]
"""Setup, step, column and dbms."""


def against_base(frame: pl.DataFrame, base: str | Bases, columns: Sequence[str]) -> dict[Place, Ratio]:
    """The ratios of all complete steps to the base: of each dbms, step and column that both have values of.

    With several bases each dbms is compared with its own (`Bases.of`).

    The noise of a run is pooled over the dbms of a step, and is not less than the noise of other steps makes likely.
    All comparisons of a setup are judged together, but those of steps that nobody took a second for, which are not
    marked: they have intervals of the same level.
    """
    done = frame.filter(pl.col("step_status") == "complete")
    found: dict[Place, Ratio] = {}
    for setup in done["setup"].unique().sort():
        found |= _of_setup(done.filter(pl.col("setup") == setup), setup, bases(base), columns)
    return found


def _of_setup(frame: pl.DataFrame, setup: str, base: Bases, columns: Sequence[str]) -> dict[Place, Ratio]:
    names = by_position(frame)
    tables: dict[tuple[str, str], dict[str, dict[int, float]]] = {
        (step, column): {name: {} for name in names} for step in steps_of(frame) for column in columns
    }
    for row in frame.select("step", "dbms", "repeat", *columns).sort("repeat").to_dicts():
        for column in columns:
            if row[column] is not None:
                tables[row["step"], column][row["dbms"]][row["repeat"]] = row[column]
    noises = _noises(tables)
    short = set(short_steps(frame)["step"])
    differences: dict[tuple[str, str, str], Difference | None] = {}
    for (step, column), rows in tables.items():
        for name in names:
            other = base.of(name)
            if name != other and rows[name] and rows.get(other):
                differences[step, column, name] = _difference(noises.get((step, column)), rows, name, other)
    judged = [found.p for (step, _, _), found in differences.items() if found and step not in short]
    level = level_of_all(judged)
    ratios = {}
    for (step, column, name), difference in differences.items():
        sides = [list(tables[step, column][side].values()) for side in (name, base.of(name))]
        found = ratio_of(sides[0], sides[1], difference, level, max(len(judged), 1))
        if found:
            ratios[setup, step, column, name] = found
    return ratios


def _difference(noise: Noise | None, rows: dict[str, dict[int, float]], name: str, base: str) -> Difference | None:
    sides = [list(rows[side].values()) for side in (name, base)]
    if min(map(len, sides)) < 2:
        return None
    if noise is None or min(*sides[0], *sides[1]) <= 0:
        return difference_of(sides[0], sides[1])
    return noise.difference(name, base)


def _noises(tables: dict[tuple[str, str], dict[str, dict[int, float]]]) -> dict[tuple[str, str], Noise]:
    """The noise of each step and column that has only positive values, of dbms with such values."""
    found = {}
    for place, rows in tables.items():
        logs = {
            name: {number: math.log(value) for number, value in values.items()}
            for name, values in rows.items()
            if values and min(values.values()) > 0
        }
        if logs:
            found[place] = noise_of(logs)
    steadied = dict(found)
    for column in {column for _, column in found}:
        mine = {place: noise for place, noise in found.items() if place[1] == column}
        known = [noise.sd**2 for noise in mine.values() if noise.df]
        if len(known) > 1:
            steadied |= {place: noise.steadied(median(known)) for place, noise in mine.items()}
    return steadied
