"""Tables of an experiment with two factors: a row for each build, a column for each configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from ibench_lib.analysis.against import Place, against_base
from ibench_lib.analysis.costs import cost_ratios, metric_of
from ibench_lib.analysis.frames import by_position, listed, measured, rate_label, rows_of, steps_of, without_short_steps
from ibench_lib.analysis.ranks import is_ranked
from ibench_lib.analysis.verdicts import BETTER, WORSE, Ratio
from ibench_lib.ask.bases import Bases
from ibench_lib.ask.provenance import names_of
from ibench_lib.ask.selection import Selection
from ibench_lib.base.wording import joined
from ibench_lib.metrics import METRICS, Metric
from ibench_lib.show.costs.reasons import cost_mark
from ibench_lib.show.kit.display import Item, Shown
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title
from ibench_lib.show.kit.table_cells import (
    CLIENT_BOUND,
    about_runs,
    rank_mark,
    ratio_rank_note,
    relative_text,
    repeat_notes,
    status_cell,
    value_text,
)
from ibench_lib.show.kit.theme import Mark
from ibench_lib.show.kit.wording import RANGE

_RATE = "throughput"


def by_build(post: Selection, *metrics: str, ranks: bool | None = None) -> Shown:
    """For each setup and metric a table of builds and configurations; nothing where there is one of either.

    A cell is relative to the base of its own build, with the interval of the ratio; the bases are relative to the first
    one. The ratios are those of the other tables (`step_metrics`).

    Parameters
    ----------
    metrics : columns of `step_metrics`, throughput or costs; empty: throughput.
    ranks : whether ratios of throughput are marked as above or below thresholds, by chance or not; by default where
        each result has one run.
    """
    runs = post.runs
    if not post.bases.by_build or runs["config"].n_unique() < 2:
        return Shown(())
    frame = post.ask("step_metrics")
    compared, ranks = without_short_steps(frame, frame), is_ranked(frame, ranks)
    found = against_base(frame, post.bases, [_RATE]) | cost_ratios(frame, post.bases)
    configs = dict(runs.select("dbms", "config").unique().rows())
    items: list[Item] = []
    for setup in frame["setup"].unique().sort():
        for name in metrics or (_RATE,):
            rows = compared.filter(pl.col("setup") == setup)
            if not rows.is_empty() and rows[name].is_not_null().any():
                grid = _grid(rows, name, post.bases, configs, found, ranks and name == _RATE)
                items.append(replace(grid, palette=post.palette))
    return Shown(tuple(items), names_of(frame) if items else ())


def _grid(
    frame: pl.DataFrame,
    column: str,
    bases: Bases,
    configs: Mapping[str, str],
    ratios: Mapping[Place, Ratio],
    ranks: bool,
) -> Grid:
    """The table of one setup and metric: for each step a row for each build."""
    setup, metric = frame["setup"][0], _metric(column)
    names = by_position(frame)
    columns = list(dict.fromkeys(configs[name] for name in (*bases.names, *names) if name in names))
    builds = listed(pl.Series([bases.builds[name] for name in names]))
    what = "Throughput" if column == _RATE else f"{metric.label[0].upper()}{metric.label[1:]}"
    title = f"{what} by build and configuration"
    grid = Grid(grid_name(f"{column}-by-build", frame), grid_title(title, frame), "step, build", columns)
    of = {(bases.builds[name], configs[name]): name for name in names}
    shown: list[Ratio] = []
    for step in steps_of(frame):
        head = f"{step}, {rate_label(frame, step)}" if column == _RATE else step
        for build in builds:
            cells = []
            for config in columns:
                name = of.get((build, config), "")
                found = ratios.get((setup, step, column, name))
                shown += [found] if found else []
                cells.append(_cell(frame, step, name, column, metric, bases, found, ranks))
            grid.rows.append((f"{head}: {build}", cells))
    grid.notes = _notes(frame, column, metric, bases, shown, ranks)
    return grid


def _cell(
    frame: pl.DataFrame,
    step: str,
    name: str,
    column: str,
    metric: Metric,
    bases: Bases,
    found: Ratio | None,
    ranks: bool,
) -> Cell:
    if not name:
        return Cell("not run", "status")
    rows = rows_of(frame, name, step)
    status = status_cell(rows)
    if status:
        return status
    if name in bases.names:
        value = value_text(rows, column, metric.format)
        text = f"{value}\n{relative_text(found)}" if found else value
        return Cell(text, below=rank_mark(found)) if ranks else Cell(text, _mark(found, column))
    if found is None:
        both = measured(frame, name, step, column) and measured(frame, bases.of(name), step, column)
        return Cell("next to nothing" if both else "-")
    mark = rank_mark(found) if ranks else _mark(found, column)
    return Cell(f"{relative_text(found)}{about_runs(rows, column)}", mark)


def _mark(found: Ratio | None, column: str) -> Mark | None:
    if column != _RATE:
        return cost_mark(found)
    if found is None or not found.is_clear:
        return None
    return "good" if found.verdict == "better" else "bad"


def _notes(
    frame: pl.DataFrame, column: str, metric: Metric, bases: Bases, shown: list[Ratio], ranks: bool
) -> list[str]:
    judged = [one for one in shown if one.p is not None and not ranks]
    whose = joined([name for name in bases.names if name in set(frame["dbms"])])
    notes = [
        f"Each figure is relative to the base of its own build ({whose}). For a base, the cell shows its value and its "
        f"ratio to {bases.first}.",
        *repeat_notes(frame),
    ]
    if judged:
        compared = max(one.comparisons for one in judged)
        notes.append(
            f"better, worse: above {BETTER} or below {WORSE}, and not by chance; {compared:,} comparisons were "
            "judged together. Intervals are as in the table of throughput."
        )
    if ranks:
        notes.append(ratio_rank_note("that base"))
    if any(one.is_range for one in shown):
        notes.append(f"Where a side has two runs, {RANGE}")
    if column != _RATE:
        notes.append(f"{metric.label}: {metric.doc}. Less is better.")
    if "client_bound" in frame.columns and frame["client_bound"].is_not_null().any():
        notes.append(f"{CLIENT_BOUND} limited by the clients.")
    return notes


def _metric(column: str) -> Metric:
    return METRICS[_RATE] if column == _RATE else metric_of(column)
