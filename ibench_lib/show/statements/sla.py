"""Which configurations missed the target rate of their background writes."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.metrics import METRICS
from ibench_lib.show.frames import by_position, rows_of
from ibench_lib.show.statements.common import caveats, columns_of, complete, extent, unfinished
from ibench_lib.show.wording import shortened


def sla_statements(sla: pl.DataFrame) -> list[str]:
    """Each step whose target was missed, and by whom; or that none was."""
    judged = complete(sla).filter(pl.col("sla_failed").is_not_null())
    said = []
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
            said.append(f"{setup}, {step}: less than 0.95 of the target of {target} rows/s: {shortened(missed, ', ')}.")
    if not said and len(judged):
        said.append(f"No target rate was missed ({extent(judged)}).")
    return [*said, *unfinished(sla)]


def _rates(failed: list[dict[str, Any]]) -> str:
    """The rates of the run that inserted and deleted least."""
    rates_of = {row["repeat"]: sorted((row["ips"] or 0.0, row["dps"] or 0.0)) for row in failed}
    worst = min(failed, key=lambda row: (rates_of[row["repeat"]], row["repeat"]))
    rates = ((worst[metric] or 0.0, METRICS[metric]) for metric in ("ips", "dps"))
    return ", ".join(f"{format(value, metric.format)} {metric.label}" for value, metric in rates)


def _of_runs(some: int, every: int) -> str:
    return f", in {some} of {every} runs" if every > 1 else ""
