"""How often chance marks equal configurations in a throughput table, and how often a true change is marked.

    python -m benchmarks.noise            simulate, write docs/performance.md
    python -m benchmarks.noise --quick    a tenth of the tables, print only

A simulated table has a base and other dbms in several steps, with repeats in shuffled rounds. `ibench_lib.stats.noise`
judges it as `ibench_lib.show.against` does for posts. The seeds are fixed, so the figures are the same everywhere.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from benchmarks.performance_page import write_section
from ibench_lib.show.verdicts import BETTER
from ibench_lib.stats.noise import Difference, level_of_all, noise_of

TABLES, QUICK_TABLES = 2000, 200
SEED = 17
CHANGES = (0.05, 0.1, 0.2)
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Shape:
    """How many dbms a table has, how many repeats each, and how many steps."""

    dbms: int
    runs: int
    steps: int


@dataclass(frozen=True)
class Noise:
    """A kind of noise: it gives the logarithms of one step, a row per dbms, a column per round."""

    name: str
    make: Callable[[np.random.Generator, int, int], Values]


@dataclass(frozen=True)
class Result:
    """Shares: of tables with any mark, of comparisons of equals that are marked, of changes found, of intervals right.

    All are of the tables in which the noise is known, a share of `known`.
    """

    known: float
    tables: float
    comparisons: float
    found: float
    held: float


def gaussian(random: np.random.Generator, dbms: int, runs: int, sd: float = 0.02) -> Values:
    return random.normal(0, sd, (dbms, runs))


def restarts(random: np.random.Generator, dbms: int, runs: int) -> Values:
    return gaussian(random, dbms, runs) + np.where(random.random((dbms, runs)) < 0.3, math.log(0.93), 0)


def outliers(random: np.random.Generator, dbms: int, runs: int) -> Values:
    return gaussian(random, dbms, runs) + np.where(random.random((dbms, runs)) < 0.05, math.log(0.85), 0)


def drifting(random: np.random.Generator, dbms: int, runs: int) -> Values:
    """A host that gets 5 % slower and remembers (AR(1), 0.6), with every round in another order."""
    host = np.zeros(dbms * runs)
    for cell in range(1, len(host)):
        host[cell] = 0.6 * host[cell - 1] + random.normal(0, 0.02)
    host += np.linspace(0, math.log(0.95), len(host))
    order = np.array([random.permutation(dbms) for _ in range(runs)])
    values = np.empty((dbms, runs))
    for number in range(runs):
        values[order[number], number] = host[number * dbms : (number + 1) * dbms]
    return values + gaussian(random, dbms, runs, 0.01)


def noisier(random: np.random.Generator, dbms: int, runs: int) -> Values:
    """The last dbms is twice as noisy as the others."""
    return gaussian(random, dbms, runs) * np.where(np.arange(dbms) == dbms - 1, 2, 1)[:, None]


NOISES = (
    Noise("gaussian, 2 %", gaussian),
    Noise("restart: 30 % of runs 7 % slower", restarts),
    Noise("5 % outliers of 15 %", outliers),
    Noise("host drift and AR(1), shuffled", drifting),
    Noise("one dbms twice as noisy", noisier),
)
LOUD = Noise("gaussian, 5 %", lambda random, dbms, runs: gaussian(random, dbms, runs, 0.05))
SHAPES = tuple(Shape(dbms, runs, steps) for runs in (2, 3, 5) for dbms, steps in ((2, 1), (4, 6), (7, 6)))


def marked(noise: Noise, shape: Shape, change: float, tables: int, seed: int) -> Result:
    """Simulate tables in which the second dbms has `change` less than all others in every step."""
    random = np.random.default_rng([seed, shape.dbms, shape.runs, shape.steps])
    truth = math.log1p(-change)
    known, any_marked, of_equals, equals, found, changed, held, intervals = (0,) * 8
    for _ in range(tables):
        differences = _table(random, noise, shape, truth)
        if not differences:
            continue
        known += 1
        level = level_of_all([one.p for _, one in differences])
        marks = [one.p <= level and abs(one.value) > math.log(BETTER) for _, one in differences]
        any_marked += any(marks)
        for (number, one), mark in zip(differences, marks, strict=True):
            true = truth if number == 1 else 0.0
            low, high = one.interval()
            held, intervals = held + (low <= true <= high), intervals + 1
            if true:
                found, changed = found + (mark and one.value < 0), changed + 1
            else:
                of_equals, equals = of_equals + mark, equals + 1
    return Result(
        known / tables, any_marked / max(known, 1), of_equals / max(equals, 1), found / max(changed, 1),
        held / max(intervals, 1),
    )  # fmt: skip


def _table(random: np.random.Generator, noise: Noise, shape: Shape, truth: float) -> list[tuple[int, Difference]]:
    noises = []
    for _ in range(shape.steps):
        values = noise.make(random, shape.dbms, shape.runs)
        values[1] += truth
        noises.append(noise_of({str(row): dict(enumerate(values[row].tolist())) for row in range(shape.dbms)}))
    if shape.steps > 1:
        typical = median(one.sd**2 for one in noises)
        noises = [one.steadied(typical) for one in noises]
    pairs = [(number, one.difference(str(number), "0")) for one in noises for number in range(1, shape.dbms)]
    return [(number, difference) for number, difference in pairs if difference]


def report(tables: int) -> str:
    """The section of docs/performance.md."""
    lines = [
        "# What chance marks, and what repeats find",
        "",
        f"Simulated with `python -m benchmarks.noise`: {tables:,} throughput tables per figure, seed {SEED}. A table",
        "has a base and other dbms (all in *dbms*), each with the same number of repeats in every step. All",
        "comparisons of a table are judged together, as in a post. Two dbms with two repeats have no intervals.",
        "",
        "Share of tables with any mark, if all dbms are equal (and share of their comparisons); the goal is 5 %:",
        "",
        *_head("noise"),
    ]
    for noise in NOISES:
        cells = [marked(noise, shape, 0.0, tables, SEED) for shape in SHAPES]
        lines.append(
            _row(noise.name, [f"{_pct(one.tables)} ({_pct(one.comparisons)})" if one.known else "-" for one in cells])
        )
    lines += ["", "Share of true changes that are marked; one dbms has less than all others in every step:", ""]
    lines += _head("noise, change")
    for noise in (*NOISES[:4], LOUD):
        for change in CHANGES:
            cells = [marked(noise, shape, change, tables // 4, SEED) for shape in SHAPES]
            found = [_pct(one.found) if one.known else "-" for one in cells]
            lines.append(_row(f"{noise.name}; {100 * change:.0f} %", found))
    return "\n".join(lines)


def _head(first: str) -> list[str]:
    names = [
        f"{shape.dbms} dbms, {shape.steps} {'step' if shape.steps == 1 else 'steps'}, {shape.runs} runs"
        for shape in SHAPES
    ]
    return [_row(first, names), "|---" * (len(SHAPES) + 1) + "|"]


def _row(first: str, cells: Sequence[str]) -> str:
    return f"| {first} | {' | '.join(cells)} |"


def _pct(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the tables; print only")
    quick = parser.parse_args().quick
    text = report(QUICK_TABLES if quick else TABLES)
    print(text)
    if not quick:
        write_section("noise", text)


if __name__ == "__main__":
    main()
