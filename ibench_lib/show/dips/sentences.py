"""Why throughput fell for a while: the story of each step."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.analysis.frames import rows_of
from ibench_lib.base.wording import count, joined
from ibench_lib.show.kit.statements import asks, caveats, complete, unfinished

_MOST = 3
"""Causes that a sentence names though each has one dip only; it names every cause of several."""
_MOST_RUNS = 4


@asks("steadiness", "dips")
def dip_statements(steadiness: pl.DataFrame, dips: pl.DataFrame) -> list[str]:
    """Of each step how many dips, what they cost, why, and how sure that is; and its waves.

    A sentence for each run with dips, or one for all of them where these are more than a reader reads one by one.
    """
    sentences = []
    judged = complete(steadiness).filter(pl.col("rated_seconds") > 0)
    several, setups = judged["repeat"].n_unique() > 1, judged["setup"].n_unique() > 1
    of_runs = dips.partition_by("run_id", "step_id", as_dict=True)
    of_steps: dict[str, list[tuple[str, dict[str, Any], pl.DataFrame]]] = {}
    for row in judged.to_dicts():
        where = f"{row['setup']}, {row['step']}" if setups else row["step"]
        name = row["dbms"] + (f" r{row['repeat']}" if several else "")
        mine = of_runs.get((row["run_id"], row["step_id"]), dips.clear())
        of_steps.setdefault(where, []).append((name, row, mine))
    for where, runs in of_steps.items():
        dipped = [run for run in runs if len(run[2])]
        if len(dipped) > _MOST_RUNS:
            sentences.append(_together(where, dipped, len(runs)))
            continue
        for name, row, mine in dipped:
            marks = caveats(rows_of(judged, row["dbms"], row["step"]))
            sentences.append(f"{where}, {name}{f' ({joined(marks)})' if marks else ''}: {dips_said(row, mine)}.")
    quiet = sum(not len(mine) for runs in of_steps.values() for _, _, mine in runs)
    if len(judged) and quiet == len(judged):
        sentences.append(f"No dips in {count(quiet, 'step')}, counted per run.")
    elif quiet:
        sentences.append(f"No dips in the other {count(quiet, 'step') if quiet > 1 else 'step'}, counted per run.")
    return [*sentences, *unfinished(steadiness)]


def _together(where: str, runs: list[tuple[str, dict[str, Any], pl.DataFrame]], of: int) -> str:
    """The dips of many runs of one step."""
    every = pl.concat([mine for _, _, mine in runs])
    name, row, mine = max(runs, key=lambda run: _lost(run[1], run[2]))
    return (
        f"{where}: {len(runs)} of {of} runs had {count(len(every), 'dip')}: {_why(every)}. The largest loss was in "
        f"{name}: {_lost(row, mine):.1f} % of the step's work at its median rate."
    )


def _lost(step: dict[str, Any], dips: pl.DataFrame) -> float:
    """The work that was not done, in percent of what the median rate would have done in the step."""
    return 100 * float(dips["lost"].sum()) / float(step["median_rate"] * step["rated_seconds"])


def dips_said(step: dict[str, Any], dips: pl.DataFrame) -> str:
    """Of a step of one run (a row of `steadiness`) and its dips: how many, their cost, why, and whether in waves."""
    in_all = " in all" if len(dips) > 1 else ""
    return (
        f"{count(len(dips), 'dip')} of {dips['seconds'].sum():,} s{in_all} (of {step['rated_seconds']:,} s) cost "
        f"{_lost(step, dips):.1f} % of the step's work at its median rate{', ' if len(dips) == 1 else ': '}{_why(dips)}"
        f"{''.join(_waves(dips))}"
    )


def _waves(dips: pl.DataFrame) -> list[str]:
    """Of the dips of a step of one run: which come in waves, how often, and how deep: ends of a sentence."""
    sentences = []
    for wave in dips.filter(pl.col("period_s").is_not_null()).partition_by("label", maintain_order=True):
        share = pl.col("lost").sum() / (pl.col("median_rate") * pl.col("seconds")).sum()
        which = "They" if len(wave) == len(dips) else f"{len(wave)} of them ({wave['label'][0]})"
        depth = float(wave.select(share).item())
        sentences.append(
            f". {which} come in waves, one every {wave['period_s'][0]:,.0f} s, {100 * depth:.0f} % deep on average"
        )
    return sentences


def _why(dips: pl.DataFrame) -> str:
    """The causes of dips, those of the most seconds first, each with how sure it is."""
    counted = (
        dips.group_by("label", "words", "confidence", "via", maintain_order=True)
        .agg(dips=pl.len(), seconds=pl.col("seconds").sum())
        .sort("seconds", descending=True, maintain_order=True)
    )
    parts = []
    named = (pl.int_range(pl.len()) < _MOST) | (pl.col("dips") > 1)
    for row in counted.filter(named).to_dicts():
        number = "all" if row["dips"] == len(dips) and len(dips) > 1 else f"{row['dips']}"
        prefix = "" if len(dips) == 1 else f"{number} "
        if row["words"] is None:
            parts.append(f"{prefix}unexplained" if prefix else "cause unexplained")
        else:
            via = f", by way of {row['via']}" if row["via"] else ""
            parts.append(f"{prefix}because {row['words']}{via} ({row['confidence']} confidence)")
    more = int(counted.filter(~named)["dips"].sum())
    return "; ".join(parts) + (f"; {more} with other causes or another confidence" if more else "")
