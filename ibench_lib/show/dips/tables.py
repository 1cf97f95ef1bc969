"""The dips of a step: when, how deep, why, and how sure that is."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.analysis.frames import repeats
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title

MOST_DIPS = 30

_WHAT = (
    "A dip is a series of full seconds (counted from 0) in which the rate was below half of the median; or, for two"
    " seconds or more, at least 20 % and at least 4 median absolute deviations below the median. If the clients are"
    " paced and the p99 of the intended time was over 5 times its median and over 10 ms, one second at 10 % is enough."
)
_HOW = (
    "Each cause gets 3 points for decisive evidence, 2 for strong evidence and -2 for what contradicts it. The cause"
    " of a dip is the one with at least 3 points and at least 1 more than any other; with 5 points or more, including"
    " decisive evidence, the confidence is high."
)


@answers("dips", "No dip was found.", by=["step", "setup"], fold=True)
def dips_table(frame: pl.DataFrame, *, stalls: pl.DataFrame | None = None) -> Grid:
    """The dips of one setup and step (rows of `dips`), the costliest when there are many, in the order of time.

    With `stalls` (the question) each dip that is one has its worst response.
    """
    step = frame["step"][0]
    worst = [] if stalls is None else ["worst (ms)"]
    columns = ["seconds", str(frame["rate_label"][0]), "% of median", *worst, "cause (confidence)", "evidence"]
    grid = Grid(grid_name(f"dips.{step}", frame), grid_title(f"Dips of {step}", frame), "dbms", columns, left=True)
    several = repeats(frame) > 1
    costliest = frame.sort("lost", descending=True, maintain_order=True).head(MOST_DIPS)
    for row in frame.join(costliest.select("run_id", "dip"), on=["run_id", "dip"], how="semi").to_dicts():
        label = row["dbms"] + (f" r{row['repeat']}" if several else "")
        label += "" if row["step_status"] == "complete" else f" ({row['step_status']})"
        texts = [
            when(row),
            f"{row['rate']:,.0f}",
            f"{100 * row['rate'] / row['median_rate']:.0f}",
            *([] if stalls is None else [_worst(row, stalls)]),
            cause_text(row) + (f" ({row['confidence']})" if row["confidence"] else ""),
            evidence_text(row),
        ]
        grid.rows.append((label, [Cell(text) for text in texts]))
    grid.notes = [f"{_WHAT} {_HOW} docs/stalls.md lists the rules."]
    if worst:
        grid.notes.append(
            "Worst: the longest response that ended in a second below half of the median, or in the next."
        )
    if len(frame) > MOST_DIPS:
        grid.notes.append(f"The {MOST_DIPS} of {len(frame):,} dips that cost most; the charts mark them all.")
    return grid


def when(row: dict[str, Any]) -> str:
    """The seconds of the step that a dip took: 15, or 15 to 18 (4 s)."""
    first, last = row["from_s"], row["to_s"] - 1
    return f"{first:,}" if first == last else f"{first:,} to {last:,} ({row['seconds']:,} s)"


def _worst(dip: dict[str, Any], stalls: pl.DataFrame) -> str:
    """The longest response of a dip that is a stall, or has one in it."""
    within = (pl.col("from_s") >= dip["from_s"]) & (pl.col("to_s") <= dip["to_s"])
    longest = stalls.filter(within, run_id=dip["run_id"], step_id=dip["step_id"])["max_response_s"].max()
    return "-" if longest is None else f"{1e3 * float(longest):,.1f}"  # type: ignore[arg-type]


def cause_text(row: dict[str, Any]) -> str:
    """The name of the cause, with the mechanism that it came through."""
    return str(row["label"]) + (f", by way of {row['via']}" if row["via"] else "")


def evidence_text(row: dict[str, Any]) -> str:
    """What holds for the cause; of an unexplained dip the best candidates, and what would have decided."""
    if row["cause"] is not None:
        return "; ".join(row["evidence"])
    candidates = [f"{one['cause']} ({one['points']})" for one in row["candidates"][:2]]
    text = f"candidates: {', '.join(candidates)}" if candidates else "nothing that was captured points to a cause"
    if row["undecided"]:
        text += f"; not captured, and could have decided: {', '.join(row['undecided'])}"
    return text
