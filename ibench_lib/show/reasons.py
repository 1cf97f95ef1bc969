"""Which costs differ together with the throughput: found once, for the sentences and the tables that name them."""

from __future__ import annotations

import html
import math
from collections.abc import Collection, Mapping, Sequence

import polars as pl

from ibench_lib.ask.bases import Bases
from ibench_lib.ask.provenance import names_of
from ibench_lib.metrics import METRICS, Metric
from ibench_lib.show.against import Place, against_base
from ibench_lib.show.display import Asker, Html, Item, Shown, sentence
from ibench_lib.show.frames import (
    by_position,
    measured,
    others_used_much,
    rows_of,
    short_names,
    steps_of,
    without_short_steps,
)
from ibench_lib.show.grid import Cell, Grid
from ibench_lib.show.table_cells import factor_text, range_text, two_lines
from ibench_lib.show.tables.naming import grid_name, grid_title
from ibench_lib.show.theme import Mark
from ibench_lib.show.verdicts import Ratio
from ibench_lib.show.wording import joined

COSTS = ("cpupq", "cspq", "rpq", "rkbpq", "wpi", "wkbpi")
"""The costs of an operation that are compared with the base's."""

LAG = "history_list_length"
"""Compared as well: what purge has left to do slows reads, and a limit on it slows writes."""

_SHORTEST_LAG = 1000
_STILL_USED = 0.9
"""What is used by more than a tenth less in a second does not limit the rate any more than before."""
_DIGITS = 20
"""Values below so many times the last digit that tables show differ by their rounding."""

_HOST = ("cpupq", "cspq")
_SAME_CAUSE = {"rkbpq": "rpq", "wkbpi": "wpi"}
_MOST_REASONS = 2
_MOST_ROWS = 12


def metric_of(column: str) -> Metric:
    """The metric in a column of `step_metrics`."""
    return METRICS["hll" if column == LAG else column]


def cost_ratios(step_metrics: pl.DataFrame, base: str | Bases) -> dict[Place, Ratio]:
    """The ratios to the base of all costs and of the history list, judged together; of those large enough to compare.

    `step_metrics` must be without the steps that are too short to compare. Flavours of servers do not count the history
    alike, so it is compared among servers of one flavour.
    """
    columns = [column for column in (*COSTS, LAG) if column in step_metrics.columns]
    # One frame for each setup: what is read out of a frame is kept while the frame is.
    of_setup = {rows["setup"][0]: rows for rows in step_metrics.partition_by("setup")}
    found = {}
    for place, one in against_base(step_metrics, base, columns).items():
        setup, step, column, name = place
        rows = of_setup[setup]
        sides = (name, base.of(name) if isinstance(base, Bases) else base)
        if column == LAG and "flavour" in rows.columns:
            flavours = {row["flavour"] for side in sides for row in rows_of(rows, side, step)}
            if len(flavours) > 1:
                continue
        most = max(value for side in sides for value in measured(rows, side, step, column))
        if most >= (_SHORTEST_LAG if column == LAG else _DIGITS * metric_of(column).resolution):
            found[place] = one
    return found


def reasons_said(
    setup: str, step: str, rates: Mapping[str, Ratio], costs: Mapping[Place, Ratio], not_known: Collection[str] = ()
) -> str:
    """Such as: CPU/op 0.62x to 0.71x and reads/op 0.10x in 2 of 3; empty where no cost fits the rates.

    Only costs that clearly differ, and the other way round than the rate: that they are higher where it is lower.
    And only if the resource is then used as much in a second as before, to a tenth (rate times cost): a server that is
    held up by something else uses less of it, and costs more per operation because of that, not the other way round.

    Parameters
    ----------
    rates : ratios of throughput by dbms, which all differ in one direction.
    not_known : dbms whose costs of the whole host say little, since others used its CPU.
    """
    fitting: dict[str, list[Ratio]] = {}
    for name, rate in rates.items():
        for column in (*COSTS, LAG):
            found = costs.get((setup, step, column, name))
            if found is None or not found.is_clear or (column in _HOST and name in not_known):
                continue
            if found.value and (found.value < 1) == (rate.value > 1) and (column == LAG or _limits(rate, found)):
                fitting.setdefault(column, []).append(found)
    _drop_the_same(fitting)
    largest = sorted(fitting, key=lambda column: (-len(fitting[column]), -_size(fitting[column])))[:_MOST_REASONS]
    items = []
    for column in largest:
        part = f" in {len(fitting[column])} of {len(rates)}" if len(fitting[column]) < len(rates) else ""
        items.append(f"{_how_much(column, fitting[column])}{part}")
    return joined(items)


def _how_much(column: str, ratios: Sequence[Ratio]) -> str:
    """CPU/op 0.62x to 0.71x; of the history list, which differs by large factors, how many times shorter or longer."""
    if column != LAG:
        return f"{metric_of(column).label} {range_text(ratios)}"
    ends = sorted(max(found.value, 1 / found.value) for found in ratios)
    times = " to ".join(dict.fromkeys(f"{factor_text(end)}x" for end in (ends[0], ends[-1])))
    return f"a history list {'shorter' if ratios[0].value < 1 else 'longer'} by {times}"


def crowded(frame: pl.DataFrame, step: str) -> list[str]:
    """The dbms of one setup whose host had much other work in a step (`step_metrics`)."""
    return [name for name in by_position(frame) if others_used_much(rows_of(frame, name, step))]


def reasons(post: Asker, palette: str = "default", *, steps: Sequence[str] = ()) -> Shown:
    """For each setup a table of the throughputs that clearly differ, and next to each what its costs are.

    All are ratios to the base (`step_metrics`). Nothing is shown where no throughput differs. `steps`: those to show;
    empty: all.
    """
    frame = post.ask("step_metrics")
    rates = against_base(frame, post.bases, ["throughput"])
    frame = without_short_steps(frame, frame)
    costs = cost_ratios(frame, post.bases)
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
            table = grid.draw(palette)
            head = f'<details class="fold"><summary>{html.escape(grid.title)}</summary>'
            items += [Html(head), table, Html("</details>")] if len(grid.rows) > _MOST_ROWS else [table]
    return Shown(tuple(items), names if items else ())


def _grid(frame: pl.DataFrame, base: Bases, rates: Mapping[Place, Ratio], costs: Mapping[Place, Ratio]) -> Grid:
    """A row for each step and dbms whose throughput differs, a column for each cost that differs anywhere in them."""
    setup = frame["setup"][0]
    places = [
        (step, name) for step in steps_of(frame) for name in by_position(frame)
        if (setup, step, "throughput", name) in rates
    ]  # fmt: skip
    columns = _telling(setup, places, costs)
    heads = ["throughput", *(metric_of(column).label for column in columns)]
    grid = Grid(grid_name("reasons", frame), grid_title("Costs where throughput differs", frame), "step, dbms", heads)
    crowds = {step: crowded(frame, step) for step, _ in places}
    named, doubtful = short_names(by_position(frame), base.builds), False
    for step, name in places:
        rate = rates[setup, step, "throughput", name]
        cells = [Cell(two_lines(rate), "good" if rate.verdict == "better" else "bad")]
        for column in columns:
            found = costs.get((setup, step, column, name))
            unsure = column in _HOST and bool({name, base.of(name)} & set(crowds[step]))
            doubtful |= unsure and found is not None
            cells.append(Cell(two_lines(found) if found else "-", None if unsure else cost_mark(found)))
        grid.rows.append((f"{step}: {named[name]}", cells))
    missing = any(cell.text == "-" for _, cells in grid.rows for cell in cells)
    meanings = "; ".join(f"{metric_of(column).label}: {metric_of(column).doc}" for column in columns)
    grid.notes = [
        f"Relative to {base}: throughput where it clearly differs, and costs (lower is better). Intervals, ▲ and "
        "▼ are as in the table of throughput.",
        *([f"{meanings}."] if meanings else ["No difference found in any cost of these steps."]),
        *(["-: not captured, or too small to compare."] if missing else []),
        *(["Not marked where other processes used much of the CPU, which these figures include."] if doubtful else []),
    ]
    return grid


def _telling(setup: str, places: Sequence[tuple[str, str]], costs: Mapping[Place, Ratio]) -> list[str]:
    """The columns that clearly differ anywhere; of counts and bytes of the same requests the larger difference."""
    clear: dict[str, list[Ratio]] = {}
    for step, name in places:
        for column in (*COSTS, LAG):
            found = costs.get((setup, step, column, name))
            if found and found.is_clear and found.value:
                clear.setdefault(column, []).append(found)
    _drop_the_same(clear)
    return [column for column in (*COSTS, LAG) if column in clear]


def _drop_the_same(clear: dict[str, list[Ratio]]) -> None:
    """Counts and bytes of the same requests: the one stays that more dbms differ in, or that differs more."""
    for column, like in _SAME_CAUSE.items():
        if column in clear and like in clear:
            del clear[min(column, like, key=lambda one: (len(clear[one]), _size(clear[one])))]


def cost_mark(found: Ratio | None) -> Mark | None:
    """Clearly good or bad, of a figure of which less is better."""
    if found is None or not found.is_clear:
        return None
    return "good" if found.value < 1 else "bad"


def _limits(rate: Ratio, cost: Ratio) -> bool:
    """Whether a cost is enough to explain the rate: the use in a second did not move with the rate."""
    used = rate.value * cost.value
    return used >= _STILL_USED if rate.value < 1 else used <= 1 / _STILL_USED


def _size(ratios: Sequence[Ratio]) -> float:
    return max(abs(math.log(found.value)) for found in ratios)
