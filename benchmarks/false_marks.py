"""How often chance marks equal configurations in a throughput table, how often intervals hold, and what is found.

    python -m benchmarks.false_marks                simulate, write docs/benchmarks/false_marks.md
    python -m benchmarks.false_marks --tables 20    with fewer tables for each figure

A simulated table has a base and other dbms in several steps, with repeats in shuffled rounds. The code of the posts'
tables (`ibench_lib.analysis.against`) judges it. The seeds are fixed, so the figures are the same everywhere.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.performance_page import write_section
from ibench_lib.analysis.verdicts import BETTER
from ibench_lib.stats.noise import LEVEL, Difference, level_of_all
from ibench_lib.stats.ratios import differences_of

TABLES = 200
QUICK = 2
SEED = 17
MOST, LEAST, AGAIN = 0.06, 0.93, 4
"""Where more tables have a mark, or fewer intervals hold the truth, so many times as many others are simulated."""

Values = NDArray[np.float64]
Random = np.random.Generator


@dataclass(frozen=True)
class Shape:
    """How many dbms a table has, how many repeats each (`of_base`: the base, if not as many), and how many steps."""

    dbms: int
    runs: int
    steps: int
    of_base: int = 0

    @property
    def text(self) -> str:
        runs = f"{self.of_base} v {self.runs}" if self.of_base else f"{self.runs}"
        return f"{self.dbms} dbms, {self.steps} {'step' if self.steps == 1 else 'steps'}, {runs} runs"


@dataclass(frozen=True)
class Noise:
    """A kind of noise: `make` gives the logarithms of a table, by step, dbms and round.

    `alike`: all dbms of a table have the same.
    """

    name: str
    make: Callable[[Random, int, int, int], Values]
    promised: bool = True
    alike: bool = True

    def tables(self, shape: Shape, tables: int) -> int:
        """How many to simulate of this shape: a third of `tables` of large ones whose noises differ."""
        return tables if self.alike or shape.steps == 1 or shape.dbms == 2 else third(tables)


@dataclass(frozen=True)
class Result:
    """Shares of the tables in which the noise is known, which are a share of `known`.

    tables: with any mark; comparisons: of equals that are marked; found: of changes that are marked; held: of intervals
    of 95 % that hold the truth.
    """

    known: float
    tables: float
    comparisons: float
    found: float
    held: float


def third(tables: int) -> int:
    """A third of the tables, but not less than a quick round has."""
    return max(QUICK, tables // 3)


def times(sd: float, *factors: float) -> Callable[[Random, int, int, int], Values]:
    """Gaussian noise; the first dbms have a multiple of it, the last factor is that of all others."""

    def make(random: Random, steps: int, dbms: int, runs: int) -> Values:
        of_dbms = np.array([factors[min(place, len(factors) - 1)] for place in range(dbms)])
        return np.asarray(random.normal(0, sd, (steps, dbms, runs)) * of_dbms[:, None])

    return make


def another(sd: float, factor: float) -> Callable[[Random, int, int, int], Values]:
    """The second dbms has a multiple of the noise of the others."""
    return times(sd, 1, factor, 1)


def by_dbms(sd: float) -> Callable[[Random, int, int, int], Values]:
    """Each dbms, also the base, has once, twice, four or eight times the noise, by a draw."""

    def make(random: Random, steps: int, dbms: int, runs: int) -> Values:
        factors = random.choice([1.0, 2.0, 4.0, 8.0], dbms)
        return np.asarray(random.normal(0, sd, (steps, dbms, runs)) * factors[:, None])

    return make


def half(random: Random, steps: int, dbms: int, runs: int) -> Values:
    factors = np.where(random.permutation(dbms) < dbms // 2, 4, 1)
    return np.asarray(random.normal(0, 0.02, (steps, dbms, runs)) * factors[:, None])


def heavy(random: Random, steps: int, dbms: int, runs: int) -> Values:
    return 0.02 * random.standard_t(3, (steps, dbms, runs))


def slowdowns(random: Random, steps: int, dbms: int, runs: int) -> Values:
    """Runs are only ever slower: by lognormal or by Pareto amounts, a table each."""
    size = (steps, dbms, runs)
    slower = random.lognormal(math.log(0.02), 1, size) if random.random() < 0.5 else 0.02 * random.pareto(2.5, size)
    return -np.log1p(slower)


def restarts(random: Random, steps: int, dbms: int, runs: int) -> Values:
    size = (steps, dbms, runs)
    return random.normal(0, 0.02, size) + np.where(random.random(size) < 0.3, math.log(0.93), 0)


def outliers(random: Random, steps: int, dbms: int, runs: int) -> Values:
    size = (steps, dbms, runs)
    return random.normal(0, 0.02, size) + np.where(random.random(size) < 0.05, math.log(0.85), 0)


def at_half_rate(random: Random, steps: int, dbms: int, runs: int) -> Values:
    size = (steps, dbms, runs)
    return random.normal(0, 0.02, size) + np.where(random.random(size) < 0.1, math.log(0.5), 0)


def rounded(random: Random, steps: int, dbms: int, runs: int) -> Values:
    """Figures of two digits at most: 6 % from one to the next."""
    return np.log(np.round(np.exp(random.normal(math.log(16), 0.03, (steps, dbms, runs)))))


def poisson(random: Random, steps: int, dbms: int, runs: int) -> Values:
    """Counts of 1.2 in the mean; 0 is one of them."""
    with np.errstate(divide="ignore"):
        return np.log(random.poisson(1.2, (steps, dbms, runs)))


def shuffled(host: Callable[[Random, int], Values]) -> Callable[[Random, int, int, int], Values]:
    """What the host does over time, to dbms in another order in every round; all steps of a run get the same."""

    def make(random: Random, steps: int, dbms: int, runs: int) -> Values:
        over_time = host(random, dbms * runs).reshape(runs, dbms)
        order = np.array([random.permutation(dbms) for _ in range(runs)])
        values = np.empty((dbms, runs))
        for number in range(runs):
            values[order[number], number] = over_time[number]
        return values + random.normal(0, 0.01, (steps, dbms, runs))

    return make


def slow_fifth(random: Random, cells: int) -> Values:
    long = max(1, cells // 5)
    start = random.integers(0, cells - long + 1)
    return np.where((np.arange(cells) >= start) & (np.arange(cells) < start + long), math.log(0.85), 0.0)


def remembering(random: Random, cells: int) -> Values:
    """AR(1) with 0.9, or a random walk, a table each."""
    memory = 0.9 if random.random() < 0.5 else 1.0
    found = np.zeros(cells)
    for cell in range(1, cells):
        found[cell] = memory * found[cell - 1] + random.normal(0, 0.02)
    return found


def drifting(random: Random, cells: int) -> Values:
    """A host that gets 5 % slower and remembers (AR(1), 0.6)."""
    found = np.zeros(cells)
    for cell in range(1, cells):
        found[cell] = 0.6 * found[cell - 1] + random.normal(0, 0.02)
    return found + np.linspace(0, math.log(0.95), cells)


def grouped(random: Random, steps: int, dbms: int, runs: int) -> Values:
    """All repeats of a dbms in a row, on a host that remembers."""
    return remembering(random, dbms * runs).reshape(dbms, runs) + random.normal(0, 0.01, (steps, dbms, runs))


def bimodal(which: Callable[[int], Values]) -> Callable[[Random, int, int, int], Values]:
    """1 % of noise, and some dbms with two modes 15 % apart."""

    def make(random: Random, steps: int, dbms: int, runs: int) -> Values:
        size = (steps, dbms, runs)
        modes = np.where(random.random(size) < 0.5, 0.075, -0.075)
        return random.normal(0, 0.01, size) + modes * which(dbms)[:, None]

    return make


NOISES = (
    Noise("gaussian, 2 %", times(0.02, 1)),
    Noise("gaussian, 5 %", times(0.05, 1)),
    Noise("t with 3 degrees of freedom", heavy),
    Noise("one-sided slowdowns, lognormal or Pareto", slowdowns),
    Noise("restart: 30 % of runs 7 % slower", restarts),
    Noise("5 % outliers of 15 %", outliers),
    Noise("a tenth of the runs at half rate", at_half_rate),
    Noise("host 15 % slower for a fifth of the time, shuffled", shuffled(slow_fifth)),
    Noise("host with AR(1) 0.9 or random walk, shuffled", shuffled(remembering)),
    Noise("host that drifts 5 %, shuffled", shuffled(drifting)),
    Noise("rounded to 6 %", rounded),
    Noise("Poisson counts of mean 1.2", poisson),
    Noise("1, 2, 4 or 8 % by dbms", by_dbms(0.01), alike=False),
    Noise("5 % times 1, 2, 4 or 8 by dbms", by_dbms(0.05), alike=False),
    Noise("2 %, one dbms twice as noisy", another(0.02, 2), alike=False),
    Noise("2 %, one dbms x3", another(0.02, 3), alike=False),
    Noise("2 %, one dbms x5", another(0.02, 5), alike=False),
    Noise("5 %, one dbms x5", another(0.05, 5), alike=False),
    Noise("2 %, base x2", times(0.02, 2, 1), alike=False),
    Noise("2 %, base x3", times(0.02, 3, 1), alike=False),
    Noise("2 %, base x5", times(0.02, 5, 1), alike=False),
    Noise("5 %, base x3", times(0.05, 3, 1), alike=False),
    Noise("5 %, base x5", times(0.05, 5, 1), alike=False),
    Noise("half of the dbms x4", half, alike=False),
    Noise("all dbms bimodal", bimodal(np.ones), promised=False, alike=False),
    Noise("one dbms bimodal", bimodal(lambda dbms: np.eye(dbms)[1]), promised=False, alike=False),
    Noise("base bimodal", bimodal(lambda dbms: np.eye(dbms)[0]), promised=False, alike=False),
    Noise("grouped, host with AR(1) or random walk", grouped, promised=False, alike=False),
)
SHAPES = (
    Shape(2, 3, 1), Shape(2, 5, 1), Shape(2, 3, 6), Shape(7, 3, 1), Shape(7, 5, 1),
    Shape(7, 2, 6), Shape(7, 3, 6), Shape(7, 5, 6), Shape(15, 3, 6), Shape(7, 5, 6, 3),
)  # fmt: skip
POWERED = (*NOISES[:3], NOISES[6])
CHANGES = (0.05, 0.1, 0.2)


def marked(noise: Noise, shape: Shape, change: float, tables: int, seed: int) -> Result:
    """Simulate tables in which the second dbms has `change` less than all others in every step."""
    random = np.random.default_rng([seed, shape.dbms, shape.runs, shape.steps, shape.of_base])
    truth = math.log1p(-change)
    known, any_marked, of_equals, equals, found, changed, held, intervals = (0,) * 8
    for _ in range(tables):
        differences = table_of(random, noise, shape, truth)
        if not differences:
            continue
        known += 1
        level = level_of_all([one.p for _, one in differences])
        marks = [one.p <= level and abs(one.value) > math.log(BETTER) for _, one in differences]
        any_marked += any(marks)
        for (number, one), mark in zip(differences, marks, strict=True):
            true = truth if number == 1 else 0.0
            # Its interval holds the truth where that is not rejected at its level, which is faster to tell.
            held, intervals = held + (replace(one, value=one.value - true).p >= LEVEL), intervals + 1
            if true:
                found, changed = found + (mark and one.value < 0), changed + 1
            else:
                of_equals, equals = of_equals + mark, equals + 1
    return Result(
        known / tables, any_marked / max(known, 1), of_equals / max(equals, 1), found / max(changed, 1),
        held / max(intervals, 1),
    )  # fmt: skip


def table_of(random: Random, noise: Noise, shape: Shape, truth: float) -> list[tuple[int, Difference]]:
    """The differences of a simulated table, with the place of the dbms; the second has `truth` more than the others."""
    values = noise.make(random, shape.steps, shape.dbms, max(shape.runs, shape.of_base))
    values[:, 1] += truth
    rates = np.exp(values)
    runs = [shape.of_base or shape.runs, *[shape.runs] * (shape.dbms - 1)]
    tables = {
        str(step): {str(row): dict(enumerate(rates[step, row, : runs[row]].tolist())) for row in range(shape.dbms)}
        for step in range(shape.steps)
    }
    found = differences_of(tables, lambda _: "0")
    return [(int(name), difference) for (_, name), difference in found.items() if difference]


def kept_word(shape: Shape, sd: float, tables: int, seed: int) -> float:
    """The share found of a change that a table of equal dbms says would be found, with about 80 % power."""
    random = np.random.default_rng([seed, shape.dbms, shape.runs, shape.steps])
    noise = Noise("", times(sd, 1))
    found = judged = 0
    for _ in range(tables):
        equal = table_of(random, noise, shape, 0.0)
        said = equal[0][1].detectable(level_of_all([one.p for _, one in equal]), math.log(BETTER))
        changed = table_of(random, noise, shape, -said)
        level = level_of_all([one.p for _, one in changed])
        of_second = [one for number, one in changed if number == 1]
        found += sum(one.p <= level and one.value < -math.log(BETTER) for one in of_second)
        judged += len(of_second)
    return found / judged


def report(tables: int) -> str:
    """The section of docs/benchmarks/false_marks.md."""

    def by_chance(of: int) -> float:
        return 100 * math.sqrt(LEVEL * (1 - LEVEL) / of)

    few = third(tables)
    cells = [
        (number, shape, 0.0, noise.tables(shape, tables), SEED)
        for number, noise in enumerate(NOISES)
        for shape in SHAPES
    ]
    powered = [
        (NOISES.index(noise), shape, change, few, SEED) for noise in POWERED for change in CHANGES for shape in SHAPES
    ]
    with ProcessPoolExecutor(2) as pool:
        first = list(pool.map(_cell, [*cells, *powered], chunksize=4))
        # The highest of many figures are high by chance too: other tables tell.
        doubted = [
            place for place, (cell, one) in enumerate(zip(cells, first, strict=False))
            if NOISES[cell[0]].promised and cell[1].runs > 2 and (one.tables > MOST or one.held < LEAST)
        ]  # fmt: skip
        others = [(*cells[place][:3], AGAIN * tables, SEED + 1) for place in doubted]
        for place, again in zip(doubted, pool.map(_cell, others), strict=True):
            first[place] = again
    results = iter(first)
    lines = [
        "# What chance marks, and what repeats find",
        "",
        f"Simulated by `python -m benchmarks.false_marks --tables {tables}`, with so many tables per figure, and {few}",
        "for true changes, and for seven dbms or more in six steps that are not equally noisy or of which nothing is",
        "promised. The code of posts judges them. A table has a base and other dbms (all in *dbms*), with repeats in",
        "every step. All comparisons of a table are judged together. Figures of 5 % vary by",
        f"{by_chance(tables):.1f} points, or {by_chance(few):.1f} where there are fewer tables.",
        f"Where, from three repeats on, more than {_pct(MOST)} % of the tables had a mark, or less than",
        f"{_pct(LEAST)} % of the intervals held the truth, {AGAIN * tables:,} others were simulated, with another",
        f"seed. The figures are theirs, and vary by {by_chance(AGAIN * tables):.1f} points.",
        "",
        "Percent of tables with any mark, if all dbms are equal, and of the 95 % intervals that hold the truth:",
        "",
        *_head("noise", map(_text, SHAPES)),
    ]
    for noise in NOISES:
        found = [next(results) for _ in SHAPES]
        promise = "" if noise.promised else " (nothing is promised)"
        lines.append(_row(f"{noise.name}{promise}", [f"{_pct(one.tables)}, {_pct(one.held)}" for one in found]))
    lines += ["", "Percent of true changes that are marked; one dbms has less than all others in every step:", ""]
    lines += _head("noise, change", map(_text, SHAPES))
    for noise in POWERED:
        for change in CHANGES:
            found = [next(results) for _ in SHAPES]
            lines.append(_row(f"{noise.name}; {100 * change:.0f} %", [_pct(one.found) for one in found]))
    lines += [
        "",
        "Percent found of the change that a table says would be found (about 80 % power):",
        "",
    ]
    shapes = [shape for shape in SHAPES if shape.runs > 2 and not shape.of_base and shape.dbms < 15]
    lines += _head("noise", map(_text, shapes))
    for sd in (0.02, 0.05):
        lines.append(_row(f"gaussian, {100 * sd:.0f} %", [_pct(kept_word(shape, sd, few, SEED)) for shape in shapes]))
    return "\n".join(lines)


def _cell(of: tuple[int, Shape, float, int, int]) -> Result:
    noise, shape, change, tables, seed = of
    return marked(NOISES[noise], shape, change, tables, seed)


def _text(shape: Shape) -> str:
    return shape.text


def _head(first: str, names: Iterable[str]) -> list[str]:
    heads = list(names)
    return [_row(first, heads), "|---" * (len(heads) + 1) + "|"]


def _row(first: str, cells: Sequence[str]) -> str:
    return f"| {first} | {' | '.join(cells)} |"


def _pct(share: float) -> str:
    return f"{100 * share:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=TABLES, help="how many to simulate for each figure")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} tables for each figure; print only")
    chosen = parser.parse_args()
    text = report(QUICK if chosen.quick else chosen.tables)
    print(text)
    if not chosen.quick:
        write_section("false_marks", text)


if __name__ == "__main__":
    main()
