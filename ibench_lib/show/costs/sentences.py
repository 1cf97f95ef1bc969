"""What an operation costs in CPU, context switches and I/O, against the base."""

from __future__ import annotations

from math import log

import polars as pl

from ibench_lib.analysis.costs import COSTS, cost_ratios, metric_of
from ibench_lib.analysis.frames import COVERED, OTHERS_PCT, by_position, little_covered, others_used_much, rows_of
from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.ask.bases import Bases, bases
from ibench_lib.base.wording import count, shortened
from ibench_lib.metrics import Metric
from ibench_lib.show.kit.statements import (
    asks,
    caveated,
    columns_of,
    noise_said,
    ratio_text,
    unfinished,
    without_short,
)
from ibench_lib.show.kit.wording import smallest_within

_OTHERS = (
    f"Other processes used over {OTHERS_PCT:.0f} % of the CPU in at least one run of {{}}: cpupq and cspq include that."
)


@asks("step_metrics", base=True)
def cost_statements(step_metrics: pl.DataFrame, base: str | Bases) -> list[str]:
    """For each step, the costs of an operation that differ most, and clearly, from the base's."""
    base, sentences = bases(base), list[str]()
    compared = 0
    shared: list[str] = []
    seen: list[Ratio] = []
    long_enough, short = without_short(step_metrics)
    ratios = cost_ratios(step_metrics, base)
    for setup, step, rows in columns_of(long_enough):
        of_bases: dict[str, list[tuple[float, str]]] = {}
        shared += [
            f"{name} in {setup}, {step}" for name in by_position(rows) if others_used_much(rows_of(rows, name, step))
        ]
        named = {name: caveated(name, rows_of(rows, name, step)) for name in by_position(rows)}
        for metric in (metric_of(name) for name in COSTS):
            for name in by_position(rows):
                against = ratios.get((setup, step, metric.name, name))
                if against is None:
                    continue
                compared += 1
                seen.append(against)
                if against.verdict != "same" and against.value > 0:
                    item = abs(log(against.value)), _item(named[name], metric, against)
                    of_bases.setdefault(base.of(name), []).append(item)
        for of_group, items in of_bases.items():
            items.sort(key=lambda item: -item[0])
            sentences.append(
                f"{setup}, {step}, compared with {named[of_group]}: {shortened([item for _, item in items])}."
            )
    if compared and not sentences:
        limits = smallest_within([ratio.detectable for ratio in seen if ratio.detectable is not None])
        sentences.append(
            f"No cost per operation differs clearly from {base} ({count(compared, 'figure')} compared{limits})."
        )
    return [
        *noise_said(seen),
        *sentences,
        *([_OTHERS.format(shortened(shared))] if shared else []),
        *_little_covered(long_enough),
        *short,
        *unfinished(step_metrics),
    ]


def _little_covered(frame: pl.DataFrame) -> list[str]:
    """At most one sentence: the steps whose costs are left out, because their samples leave out too much of them."""
    items = [f"{step} in {setup}" for setup, step, _ in columns_of(little_covered(frame))]
    if not items:
        return []
    covered = f"these cover less than {COVERED * 100:.0f} % of a step"
    return [f"Costs taken from samples are left out where {covered}: {shortened(items)}."]


def _item(name: str, metric: Metric, found: Ratio) -> str:
    return f"{name}: {metric.label} ({metric.name}) {ratio_text(found)}"
