"""The costs that differ together with the throughput, in a sentence and in a table."""

from __future__ import annotations

import html
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import polars as pl

from ibench_lib.analysis.against import Place, against_base
from ibench_lib.analysis.costs import HOST, LAG, cost_ratios, crowded, fitting_costs, metric_of, telling_costs
from ibench_lib.analysis.frames import (
    by_position,
    short_names,
    steps_of,
    without_short_steps,
)
from ibench_lib.analysis.verdicts import BETTER, WORSE, Ratio
from ibench_lib.ask.bases import Bases
from ibench_lib.ask.provenance import names_of
from ibench_lib.base.wording import joined
from ibench_lib.show.kit.display import Asker, Html, Item, Shown, sentence
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title
from ibench_lib.show.kit.table_cells import factor_text, range_text, two_lines
from ibench_lib.show.kit.theme import Mark

_MOST_ROWS = 12


def reasons_said(
    setup: str, step: str, rates: Mapping[str, Ratio], costs: Mapping[Place, Ratio], not_known: Collection[str] = ()
) -> str:
    """Such as: CPU/op 0.62x to 0.71x and reads/op 0.10x in 2 of 3; empty where no cost fits (`fitting_costs`)."""
    items = []
    for column, fitting in fitting_costs(setup, step, rates, costs, not_known).items():
        part = f" in {len(fitting)} of {len(rates)}" if len(fitting) < len(rates) else ""
        items.append(f"{_how_much(column, fitting)}{part}")
    return joined(items)


def _how_much(column: str, ratios: Sequence[Ratio]) -> str:
    """CPU/op 0.62x to 0.71x; of the history list, which differs by large factors, how many times shorter or longer."""
    if column != LAG:
        return f"{metric_of(column).label} {range_text(ratios)}"
    ends = sorted(max(ratio.value, 1 / ratio.value) for ratio in ratios)
    times = " to ".join(dict.fromkeys(f"{factor_text(end)}x" for end in (ends[0], ends[-1])))
    return f"a history list {times} {'shorter' if ratios[0].value < 1 else 'longer'}"


def reasons(post: Asker, *, steps: Sequence[str] = ()) -> Shown:
    """For each setup a table of the throughputs that clearly differ, and next to each what its costs are.

    All are ratios to the base (`step_metrics`). Nothing is shown where no throughput differs. `steps`: those to show;
    empty: all.
    """
    frame = post.ask("step_metrics")
    rates = against_base(frame, post.bases, ["throughput"])
    costs = cost_ratios(frame, post.bases)
    frame = without_short_steps(frame, frame)
    if steps:
        frame = frame.filter(pl.col("step").is_in(list(steps)))
    names = names_of(post.ask("step_metrics"))
    items: list[Item] = []
    for setup in frame["setup"].unique().sort():
        clear = {place: one for place, one in rates.items() if place[0] == setup and one.is_clear}
        clear = {place: one for place, one in clear.items() if place[1] in steps_of(frame)}
        of_setup = {place: one for place, one in costs.items() if place[0] == setup and place[1] in steps_of(frame)}
        if clear and not of_setup:
            items.append(sentence(f"{setup}: no costs were captured that could explain the differences.", *names))
        elif clear:
            grid = _grid(frame.filter(pl.col("setup") == setup), post.bases, clear, of_setup)
            grid = replace(grid, palette=post.palette)
            head = f'<details class="fold"><summary>{html.escape(grid.title)}</summary>'
            items += [Html(head), grid, Html("</details>")] if len(grid.rows) > _MOST_ROWS else [grid]
    return Shown(tuple(items), names if items else ())


def _grid(frame: pl.DataFrame, base: Bases, rates: Mapping[Place, Ratio], costs: Mapping[Place, Ratio]) -> Grid:
    """A row for each step and dbms whose throughput differs, a column for each cost that differs anywhere in them."""
    setup = frame["setup"][0]
    places = [
        (step, name) for step in steps_of(frame) for name in by_position(frame)
        if (setup, step, "throughput", name) in rates
    ]  # fmt: skip
    columns = telling_costs(setup, places, costs)
    heads = ["throughput", *(metric_of(column).label for column in columns)]
    grid = Grid(grid_name("reasons", frame), grid_title("Costs where throughput differs", frame), "step, dbms", heads)
    crowds = {step: crowded(frame, step) for step, _ in places}
    named, doubtful = short_names(by_position(frame), base.builds), False
    for step, name in places:
        rate = rates[setup, step, "throughput", name]
        cells = [Cell(two_lines(rate), "good" if rate.verdict == "better" else "bad")]
        for column in columns:
            ratio = costs.get((setup, step, column, name))
            unsure = column in HOST and bool({name, base.of(name)} & set(crowds[step]))
            doubtful |= unsure and ratio is not None
            cells.append(Cell(two_lines(ratio) if ratio else "-", None if unsure else cost_mark(ratio)))
        grid.rows.append((f"{step}: {named[name]}", cells))
    missing = any(cell.text == "-" for _, cells in grid.rows for cell in cells)
    meanings = "; ".join(f"{metric_of(column).label}: {metric_of(column).doc}" for column in columns)
    grid.notes = [
        f"Relative to {base}: throughput where it clearly differs, and costs (lower is better). Intervals are "
        "as in the table of throughput.",
        f"better, worse: above {BETTER} or below {WORSE}, and not by chance.",
        *([f"{meanings}."] if meanings else ["No difference found in any cost of these steps."]),
        *(["-: not captured, or too small to compare."] if missing else []),
        *(["Not marked where other processes used much of the CPU, which these figures include."] if doubtful else []),
    ]
    return grid


def cost_mark(found: Ratio | None) -> Mark | None:
    """Clearly good or bad, of a figure of which less is better."""
    if found is None or not found.is_clear:
        return None
    return "good" if found.value < 1 else "bad"
