"""Every dbms against its base: ratios with the noise of all dbms in all steps of a setup, judged together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import polars as pl

from ibench_lib.analysis.frames import by_position, short_steps
from ibench_lib.analysis.verdicts import Ratio, ratio_of
from ibench_lib.ask.bases import Bases, bases, no_results
from ibench_lib.stats.noise import level_of_all
from ibench_lib.stats.ratios import differences_of

Place = tuple[str, str, str, str]
"""Setup, step, column and dbms."""


def against_base(frame: pl.DataFrame, base: str | Bases, columns: Sequence[str]) -> dict[Place, Ratio]:
    """The ratios of all complete steps to the base: of each dbms, step and column that both have values of.

    With several bases each dbms is compared with its own (`Bases.of`).

    The noise is that of all dbms in all steps of a setup (`stats.noise.noises_of`), and so are the intervals, whatever
    is shown of them. All comparisons of a setup are judged together, but those of steps that nobody took a second for,
    which are not marked. Steps whose throughput is no result, such as a warm-up, have noise and judgements of their
    own.

    A frame may have several rows of a run and step, told apart by a column `figure`, such as the operation of a
    percentile: what is the same figure in several steps has the noise of all of these. Only rows with `shown` are
    compared, at most one figure in a step.
    """
    done = frame.filter(pl.col("step_status") == "complete")
    if "duration_s" not in done.columns:  # of no row is then known that its step was short
        done = done.with_columns(duration_s=pl.lit(None, pl.Float64))
    ratios: dict[Place, Ratio] = {}
    for setup in done["setup"].unique().sort():
        ratios |= _of_setup(done.filter(pl.col("setup") == setup), setup, bases(base), columns)
    return ratios


def _of_setup(frame: pl.DataFrame, setup: str, base: Bases, columns: Sequence[str]) -> dict[Place, Ratio]:
    names = by_position(frame)
    if "figure" not in frame.columns:
        frame = frame.with_columns(figure=pl.lit(""), shown=pl.lit(True))
    figures = dict(frame.filter("shown").sort("step_id").select("step", "figure").iter_rows())
    tables: dict[tuple[str, str], dict[str, dict[str, dict[int, float]]]] = defaultdict(dict)
    for row in frame.select("step", "dbms", "repeat", "figure", *columns).sort("repeat").to_dicts():
        for column in columns:
            rows = tables[column, row["figure"]].setdefault(row["step"], {name: {} for name in names})
            if row[column] is not None:
                rows[row["dbms"]][row["repeat"]] = row[column]
    short, aside = set(short_steps(frame)["step"]), no_results(frame)
    every = {place: differences_of(of_figure, base.of, aside) for place, of_figure in tables.items()}
    differences = {
        (step, column, name): ratio
        for step, figure in figures.items()
        for column in columns
        for (of_step, name), ratio in every[column, figure].items()
        if of_step == step
    }
    family = {step: step in aside for step in figures}
    judged: dict[bool, list[float]] = {False: [], True: []}
    for (step, _, _), of_step in differences.items():
        if of_step and step not in short:
            judged[family[step]].append(of_step.p)
    levels = {which: level_of_all(of_family) for which, of_family in judged.items()}
    ratios = {}
    for (step, column, name), difference in differences.items():
        rows = tables[column, figures[step]][step]
        sides = [list(rows[side].values()) for side in (name, base.of(name))]
        which = family[step]
        ratio = ratio_of(sides[0], sides[1], difference, levels[which], max(len(judged[which]), 1))
        if ratio:
            ratios[setup, step, column, name] = ratio
    return ratios
