"""How steady one step was in each run: its rate, its worst response, and its dips with their causes."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.analysis.frames import repeats
from ibench_lib.base.wording import count
from ibench_lib.show.dips.sentences import dips_said
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.statements import asks

_FEWEST = 5
"""Full seconds that a step needs for dips to be looked for, as in `dip_seconds`."""


@asks("steadiness", "dips")
def steadiness_statements(steadiness: pl.DataFrame, dips: pl.DataFrame) -> list[str]:
    """A sentence for each run and step; of a step that did not end, how far it went."""
    several, setups = len(steadiness) and repeats(steadiness) > 1, steadiness["setup"].n_unique() > 1
    sentences = []
    for row in steadiness.to_dicts():
        mine = dips.filter(run_id=row["run_id"], step_id=row["step_id"])
        name = row["dbms"] + (f" r{row['repeat']}" if several else "") + (f", {row['setup']}" if setups else "")
        sentences.append(f"{row['step']}, {name}: {_how_far(row)}{_how_steady(row, mine)}")
    return sentences


def _how_far(row: dict[str, Any]) -> str:
    """The mark of a step, or of its run, that did not complete."""
    status, lasted = row["step_status"], row["duration_s"]
    if status == "loaded from a snapshot":
        return "it was loaded from a snapshot; this run did not execute it."
    if lasted is None:
        known = {"not begun": "has not begun", "not readable": "cannot be read: the run's table of steps is damaged"}
        why = known.get(status, f"was not run (the run: {row['run_status']})")
        return f"it {why}."
    if status == "running":
        return f"it is running; its first {lasted:,.1f} s are shown; "
    if status != "complete":
        return f"it {status} after {lasted:,.1f} s and is shown up to there; "
    return "" if row["run_status"] == "complete" else f"the run did not complete ({row['run_status']}); "


def _how_steady(row: dict[str, Any], dips: pl.DataFrame) -> str:
    if row["duration_s"] is None:
        return ""
    if row["main_operation"] is None:
        return "the step is one statement per index and client, so there is no rate per second and there are no dips."
    if not row["rated_seconds"]:
        return "no full second is known, so no rate per second is, and no dip."
    worst = f", worst response {theme.seconds(row['max_response_s'])}" if row["max_response_s"] is not None else ""
    seconds = count(row["rated_seconds"], "full second")
    facts = f"{row['median_rate']:,.0f} {row['rate_label']} in the median second{worst}"
    if not row["median_rate"]:
        return f"{facts}; with that median in {seconds}, dips cannot be recognised."
    if len(dips):
        return f"{facts}; {dips_said(row, dips)}."
    if row["rated_seconds"] < _FEWEST:
        verb = "is" if row["rated_seconds"] == 1 else "are"
        return f"{facts}; {seconds} {verb} too few to look for dips."
    return f"{facts}; no dip in {seconds}, the slowest had {row['min_rate']:,.0f}."
