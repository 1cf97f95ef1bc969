"""Which configurations missed the target rate of their operations."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.analysis.frames import by_position, rows_of
from ibench_lib.base.wording import shortened
from ibench_lib.metrics import METRICS, SLA_SHARE
from ibench_lib.show.kit.statements import asks, caveats, columns_of, complete, extent, unfinished


@asks("sla")
def sla_statements(sla: pl.DataFrame) -> list[str]:
    """Each step whose target was missed, and the configurations that missed it; or a sentence that says nobody did."""
    judged = complete(sla).filter(pl.col("sla_failed").is_not_null())
    sentences = []
    for setup, step, rows in columns_of(judged):
        missed = []
        for name in by_position(rows):
            mine = rows_of(rows, name, step)
            failed = [row for row in mine if row["sla_failed"]]
            if failed:
                # That it missed its target is what the sentence says.
                about = caveats([{**row, "sla_failed": False} for row in failed])
                missed.append(f"{name} ({', '.join([_rates(failed) + _of_runs(len(failed), len(mine)), *about])})")
        if missed:
            targets = rows["target_per_s"].unique().sort()
            target = " or ".join(f"{value:,.0f}" for value in targets)
            rule = f"less than {SLA_SHARE} of the target of {target} {_unit(rows)}"
            sentences.append(f"{setup}, {step}: {rule}: {shortened(missed, ', ')}.")
    if not sentences and len(judged):
        sentences.append(f"No target rate was missed ({extent(judged)}).")
    return [*sentences, *unfinished(sla)]


def _unit(rows: pl.DataFrame) -> str:
    """The unit of a target: rows/s if all families with a target count rows."""
    return "rows/s" if set(rows["counts"].explode()) == {"rows"} else "operations/s"


def _rates(failed: list[dict[str, Any]]) -> str:
    """The rates of the slowest run."""
    rates_of = {row["repeat"]: sorted(rate or 0.0 for rate in row["rates"]) for row in failed}
    worst = min(failed, key=lambda row: (rates_of[row["repeat"]], row["repeat"]))
    rates = zip(worst["rates"], worst["labels"], strict=True)
    return ", ".join(f"{format(rate or 0.0, METRICS['throughput'].format)} {label}" for rate, label in rates)


def _of_runs(some: int, every: int) -> str:
    return f", in {some} of {every} runs" if every > 1 else ""
