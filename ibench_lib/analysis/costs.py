"""Which costs differ together with the throughput: found once, for the sentences and the tables that name them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import polars as pl

from ibench_lib.analysis.against import Place, against_base
from ibench_lib.analysis.frames import by_position, measured, others_used_much, rows_of, short_steps
from ibench_lib.analysis.verdicts import DIGITS, Ratio
from ibench_lib.ask.bases import Bases
from ibench_lib.metrics import METRICS, Metric

COSTS = ("cpupq", "cspq", "rpq", "rkbpq", "wpi", "wkbpi")
"""The costs of an operation that are compared with the base's."""

LAG = "history_list_length"
"""Compared as well: what purge has left to do slows reads, and a limit on it slows writes."""

_SHORTEST_LAG = 1000
_STILL_USED = 0.9
"""What is used by more than a tenth less in a second does not limit the rate any more than before."""
HOST = ("cpupq", "cspq")
_OF_ROWS = ("wpi", "wkbpi")
_SAME_CAUSE = {"rkbpq": "rpq", "wkbpi": "wpi"}
_MOST_REASONS = 2


def metric_of(column: str) -> Metric:
    """The metric in a column of `step_metrics`."""
    return METRICS["hll" if column == LAG else column]


def cost_ratios(step_metrics: pl.DataFrame, base: str | Bases) -> dict[Place, Ratio]:
    """The ratios to the base of all costs and of the history list, judged together; of those large enough to compare.

    Writes per row are no cost of a throughput that counts something else, such as queries next to paced inserts.
    `step_metrics` has all steps of its setups: those that are too short to compare have no ratio, but count for the
    noise, as they do in every other ratio. Flavours of servers do not count the history alike, so it is compared among
    servers of one flavour.
    """
    columns = [column for column in (*COSTS, LAG) if column in step_metrics.columns]
    # One frame for each setup: what is read out of a frame is kept while the frame is.
    of_setup = {rows["setup"][0]: rows for rows in step_metrics.partition_by("setup")}
    short = set(short_steps(step_metrics).select("setup", "step").iter_rows())
    clear = {}
    for place, one in against_base(step_metrics, base, columns).items():
        setup, step, column, name = place
        if (setup, step) in short:
            continue
        rows = of_setup[setup]
        sides = (name, base.of(name) if isinstance(base, Bases) else base)
        mine = [row for side in sides for row in rows_of(rows, side, step)]
        if column in _OF_ROWS and not all(row.get("of_rows", True) for row in mine):
            continue
        if column == LAG and "flavour" in rows.columns:
            flavours = {row["flavour"] for row in mine}
            if len(flavours) > 1:
                continue
        most = max(value for side in sides for value in measured(rows, side, step, column))
        if most >= (_SHORTEST_LAG if column == LAG else DIGITS * metric_of(column).resolution):
            clear[place] = one
    return clear


def fitting_costs(
    setup: str, step: str, rates: Mapping[str, Ratio], costs: Mapping[Place, Ratio], not_known: Collection[str] = ()
) -> dict[str, list[Ratio]]:
    """By column, the ratios of at most two costs that fit the rates, those of the most dbms first; empty without any.

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
            cost = costs.get((setup, step, column, name))
            if cost is None or not cost.is_clear or (column in HOST and name in not_known):
                continue
            if cost.value and (cost.value < 1) == (rate.value > 1) and (column == LAG or _limits(rate, cost)):
                fitting.setdefault(column, []).append(cost)
    _drop_the_same(fitting)
    largest = sorted(fitting, key=lambda column: (-len(fitting[column]), -_size(fitting[column])))[:_MOST_REASONS]
    return {column: fitting[column] for column in largest}


def crowded(frame: pl.DataFrame, step: str) -> list[str]:
    """The dbms of one setup whose host had much other work in a step (`step_metrics`)."""
    return [name for name in by_position(frame) if others_used_much(rows_of(frame, name, step))]


def telling_costs(setup: str, places: Sequence[tuple[str, str]], costs: Mapping[Place, Ratio]) -> list[str]:
    """The columns that clearly differ anywhere; of counts and bytes of the same requests the larger difference."""
    clear: dict[str, list[Ratio]] = {}
    for step, name in places:
        for column in (*COSTS, LAG):
            cost = costs.get((setup, step, column, name))
            if cost and cost.is_clear and cost.value:
                clear.setdefault(column, []).append(cost)
    _drop_the_same(clear)
    return [column for column in (*COSTS, LAG) if column in clear]


def _drop_the_same(clear: dict[str, list[Ratio]]) -> None:
    """Counts and bytes of the same requests: the one stays that more dbms differ in, or that differs more."""
    for column, like in _SAME_CAUSE.items():
        if column in clear and like in clear:
            del clear[min(column, like, key=lambda one: (len(clear[one]), _size(clear[one])))]


def _limits(rate: Ratio, cost: Ratio) -> bool:
    """Whether a cost is enough to explain the rate: the use in a second did not move with the rate."""
    used = rate.value * cost.value
    return used >= _STILL_USED if rate.value < 1 else used <= 1 / _STILL_USED


def _size(ratios: Sequence[Ratio]) -> float:
    return max(abs(math.log(ratio.value)) for ratio in ratios)
