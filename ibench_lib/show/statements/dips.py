"""Why throughput fell for a while: the story of each step."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.show.frames import rows_of
from ibench_lib.show.statements.common import asks, caveats, complete, unfinished
from ibench_lib.show.wording import count, joined

_MOST = 3


@asks("steadiness", "dips")
def dip_statements(steadiness: pl.DataFrame, dips: pl.DataFrame) -> list[str]:
    """A sentence for each run and step: how many dips, what they cost, why, and how sure that is; and its waves."""
    said = []
    judged = complete(steadiness).filter(pl.col("rated_seconds") > 0)
    several, setups = judged["repeat"].n_unique() > 1, judged["setup"].n_unique() > 1
    quiet = 0
    for row in judged.to_dicts():
        one = {"run_id": row["run_id"], "step_id": row["step_id"]}
        mine = dips.filter(**one)
        name = row["dbms"] + (f" r{row['repeat']}" if several else "")
        where = f"{row['setup']}, {row['step']}" if setups else row["step"]
        if mine.is_empty():
            quiet += 1
            continue
        marks = caveats(rows_of(judged, row["dbms"], row["step"]))
        said.append(f"{where}, {name}{f' ({joined(marks)})' if marks else ''}: {dips_said(row, mine)}.")
        said += [f"{where}, {name}: {wave}." for wave in waves_said(mine)]
    if len(judged) and quiet == len(judged):
        said.append(f"No dip was found in {count(quiet, 'step')} (counted in each run).")
    elif quiet:
        said.append(f"No dip was found in {count(quiet, 'other step')} (counted in each run).")
    return [*said, *unfinished(steadiness)]


def dips_said(step: dict[str, Any], dips: pl.DataFrame) -> str:
    """Of a step of one run (a row of `steadiness`) and its dips: how many, what they cost, and why."""
    lost = 100 * dips["lost"].sum() / (step["median_rate"] * step["rated_seconds"])
    return (
        f"{count(len(dips), 'dip')} took {dips['seconds'].sum():,} of {step['rated_seconds']:,} s and cost "
        f"{lost:.1f} % of what the median rate would have done, {_why(dips)}"
    )


def waves_said(dips: pl.DataFrame) -> list[str]:
    """Of the dips of a step of one run: which come in waves, how often, and how deep they are."""
    said = []
    for wave in dips.filter(pl.col("period_s").is_not_null()).partition_by("label", maintain_order=True):
        share = pl.col("lost").sum() / (pl.col("median_rate") * pl.col("seconds")).sum()
        depth = float(wave.select(share).item())
        said.append(
            f"{len(wave)} of them ({wave['label'][0]}) come in waves, one every {wave['period_s'][0]:,.0f} s, "
            f"{100 * depth:.0f} % deep on average"
        )
    return said


def _why(dips: pl.DataFrame) -> str:
    """The causes of dips, the most frequent first, each with how sure it is."""
    counted = (
        dips.group_by("label", "words", "confidence", "via", maintain_order=True)
        .agg(dips=pl.len(), seconds=pl.col("seconds").sum())
        .sort("seconds", descending=True, maintain_order=True)
    )
    parts = []
    for row in counted.head(_MOST).to_dicts():
        number = "all" if row["dips"] == len(dips) and len(dips) > 1 else f"{row['dips']}"
        prefix = "" if len(dips) == 1 else f"{number} "
        if row["words"] is None:
            parts.append(f"{prefix}unexplained" if prefix else "cause unexplained")
        else:
            via = f", through {row['via']}" if row["via"] else ""
            parts.append(f"{prefix}because {row['words']}{via} ({row['confidence']} confidence)")
    more = len(counted) - _MOST
    return ", ".join(parts) + (f", and {count(more, 'other cause')}" if more > 0 else "")
