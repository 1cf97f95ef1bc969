"""What sentences of all subjects share: which columns there are, what did not complete, what is said with a number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from ibench_lib.show.frames import SHORT_S, by_position, rows_of, short_steps, steps_of
from ibench_lib.show.verdicts import Ratio
from ibench_lib.show.wording import count, joined, shortened, times

NOISE_UNKNOWN = "There is one run of each, so the noise is unknown."
ONE_RUN = (
    "One run, noise unknown: values without an interval come from a single run. They are listed if they lie outside "
    "0.95 to 1.05 of the base's, and may be noise."
)
NOT_TO_DO = ("loaded from a snapshot", "not published")
"""`step_status` of steps that have no figure, and are neither missing nor failed."""
ATTENTION = "Attention: "
"""Begins a sentence that nobody should overlook; pages show it so."""


def columns_of(frame: pl.DataFrame) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """(setup, step, rows) of each column of a post's tables."""
    for setup in frame["setup"].unique().sort():
        of_setup = frame.filter(pl.col("setup") == setup)
        for step in steps_of(of_setup):
            yield setup, step, of_setup.filter(pl.col("step") == step)


def complete(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(pl.col("step_status") == "complete")


def extent(frame: pl.DataFrame) -> str:
    """How much was looked at: 3 configurations in 2 steps; a step counts once a setup."""
    steps = frame.unique(["setup", "step"]).height
    return f"{count(frame['dbms'].n_unique(), 'configuration')} in {count(steps, 'step')}"


def without_short(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The complete steps but those that nobody took a second for, and at most one sentence that names these."""
    done = complete(frame)
    short = done.join(short_steps(done), on=["setup", "step"], how="semi")
    items = []
    for setup in short["setup"].unique().sort():
        of_setup = short.filter(pl.col("setup") == setup)
        seconds = sorted(of_setup["duration_s"].drop_nulls())
        items.append(f"{joined(steps_of(of_setup))} in {setup} ({seconds[0]:.2f} s to {seconds[-1]:.2f} s)")
    said = [f"Not compared, because they took less than {SHORT_S:.0f} s: {shortened(items)}."] if items else []
    return done.join(short, on=["setup", "step"], how="anti"), said


def unfinished(frame: pl.DataFrame) -> list[str]:
    """At most one sentence: which steps did not complete, so that nothing else is said of them.

    Steps that no run set out to do (loaded from a snapshot, not published) are not among them.
    """
    frame = frame.filter(~pl.col("step_status").is_in(NOT_TO_DO))
    found: dict[tuple[str, str], list[str]] = {}
    for setup, step, rows in columns_of(frame):
        for name in by_position(rows):
            mine = rows_of(rows, name, step)
            broken = [row for row in mine if row["step_status"] != "complete"]
            if broken:
                said = f"{step} {joined(sorted({row['step_status'] for row in broken}))}"
                runs = {row["repeat"] for row in mine}
                if len(runs) > 1:
                    said += f" in {len({row['repeat'] for row in broken})} of {len(runs)} runs"
                found.setdefault((setup, name), []).append(said)
    if not found:
        return []
    items = [f"{name} in {setup} ({', '.join(said)})" for (setup, name), said in found.items()]
    return [f"Not compared, because they did not complete: {shortened(items)}."]


def caveats(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What must be said beside the number of one dbms and step, whose rows these are."""
    done = [row for row in rows if row["step_status"] == "complete"]
    said = []
    if any(row["run_status"] != "complete" for row in done):
        said.append("from a run that did not complete")
    if any(row.get("client_bound") for row in done):
        said.append("limited by the clients")
    if any(row.get("sla_failed") for row in done):
        said.append("missed the target rate of its writes")
    return said


def caveated(text: str, rows: Sequence[dict[str, Any]]) -> str:
    """The text with the caveats of its rows behind it, in brackets."""
    said = caveats(rows)
    return f"{text} ({', '.join(said)})" if said else text


def ratio_text(found: Ratio) -> str:
    """1.42 times [1.38, 1.45], or without an interval: 1.42 times, one run."""
    interval = ", one run" if found.low is None or found.high is None else f" [{times(found.low)}, {times(found.high)}]"
    return f"{times(found.value)} times{interval}"
