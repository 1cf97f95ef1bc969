"""Response times: shares per bucket, percentiles, the worst."""

from __future__ import annotations

from typing import Any, cast

import polars as pl

from ibench_lib.analysis.frames import is_least
from ibench_lib.metrics import METRICS
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title
from ibench_lib.show.kit.table_cells import (
    LEAST,
    NOT_RECORDED,
    about_runs,
    least_notes,
    mark_notes,
    unrecorded_notes,
)

_BUCKETS = {
    "le_256us": "≤256us",
    "le_1ms": "≤1ms",
    "le_4ms": "≤4ms",
    "le_16ms": "≤16ms",
    "le_64ms": "≤64ms",
    "le_256ms": "≤256ms",
    "le_1s": "≤1s",
    "le_4s": "≤4s",
    "le_16s": "≤16s",
    "gt_16s": ">16s",
}


_PERCENTILES = ("p50", "p90", "p99", "p999")


@answers(
    "response_time_histogram",
    "No response time was recorded.",
    by=["step", "setup", "operation"],
    heading="step",
    anchor="histogram",
    fold=True,
    long=True,
)
def response_time_table(frame: pl.DataFrame) -> Grid:
    """Share of responses per bucket, percentiles and max of one step and operation (`response_time_histogram`).

    Runs of a dbms that completed the step share a row: shares of all their responses, medians of their percentiles, the
    largest response of all. Any other run has a row of its own.
    """
    step, operation = frame["step"][0], frame["operation"][0]
    used = [name for name in _BUCKETS if frame[name].max()]  # of what was not recorded nothing is known
    columns = [*(_BUCKETS[name] for name in used), "p50", "p90", "p99", "p99.9", "max"]
    grid = Grid(
        grid_name(f"histogram.{step}.{operation}", frame),
        grid_title(f"Response times of {operation} in {step}", frame),
        "dbms",
        columns,
        spanners=[
            *([("% of responses", range(len(used)))] if used else []),
            ("milliseconds", range(len(used), len(columns))),
        ],
    )
    timings = frame["timing"].n_unique()
    together = pl.when(pl.col("step_status") != "complete").then(pl.col("repeat"))
    groups = frame.group_by("timing", "dbms", together.alias("alone"), maintain_order=True)
    most_runs, too_few, of_rows = 1, False, set[int]()
    for (timing, dbms, alone), runs in groups:
        label = str(dbms) if alone is None else f"{dbms} r{alone} ({runs['step_status'][0]})"
        percentiles = [_percentile(runs, name) for name in _PERCENTILES]
        unrecorded = runs["responses"].has_nulls()
        cells = [Cell(NOT_RECORDED if unrecorded else _share(_pooled(runs, name))) for name in used]
        for name, value in (
            *zip(_PERCENTILES, percentiles, strict=True),
            ("max", cast("float | None", runs["max_s"].max())),
        ):
            least = LEAST if value is not None and is_least(runs.to_dicts(), f"{name}_s") else ""
            none = NOT_RECORDED if unrecorded else "-"
            cells.append(Cell(none if value is None else f"{least}{_milliseconds(value)}"))
        head = f"{label}, {timing}" if timings > 1 else label
        grid.rows.append((head if alone is not None else head + about_runs(runs.to_dicts(), "max_s"), cells))
        most_runs, too_few = max(most_runs, len(runs)), too_few or (None in percentiles and not unrecorded)
        of_rows.add(len(runs))
    grid.notes = ["Buckets without any response are left out."] if 0 < len(used) < len(_BUCKETS) else []
    if most_runs > 1:
        up_to = "up to " if len(of_rows) > 1 else ""
        grid.notes.append(
            f"A row shows {up_to}{most_runs} runs: shares of all their responses, medians of their percentiles, and "
            "the largest max."
        )
    if too_few:
        grid.notes.append(f"-: too few responses. {_needed()}.")
    if timings > 1:
        grid.notes += [
            "service: sent to answered. intended: due to answered, so a stall counts for every statement "
            "that it delayed."
        ]
    grid.notes += [*least_notes(frame), *unrecorded_notes(frame), *mark_notes(frame)]
    return grid


def _pooled(runs: pl.DataFrame, bucket: str) -> float:
    """Per cent of the responses of all runs together."""
    weighted = zip(runs[bucket], runs["responses"], strict=True)
    return float(sum(share * responses for share, responses in weighted) / sum(runs["responses"]))


def _percentile(runs: pl.DataFrame, name: str) -> float | None:
    """Median over the runs, in seconds; None where one has too few responses for it."""
    if runs["responses"].has_nulls():
        return None
    enough = (runs["responses"] >= METRICS[f"response_{name}_ms"].least_responses).all()
    return cast(float, runs[f"{name}_s"].median()) if enough else None


def _needed() -> str:
    """How many responses each percentile but the median needs: p90 needs 10 of a run, p99 100 ..."""
    metrics = [METRICS[f"response_{name}_ms"] for name in _PERCENTILES[1:]]
    return ", ".join(
        f"{metric.label}{'' if number else ' needs'} {metric.least_responses:,}{'' if number else ' of a run'}"
        for number, metric in enumerate(metrics)
    )


def _milliseconds(seconds: Any) -> str:
    return format(1e3 * seconds, ",.3f")


def _share(percent: float) -> str:
    """A share in per cent to three decimals; one that is not zero but rounds to it is `nonzero`."""
    text = format(percent, ".3f")
    return "nonzero" if percent > 0 and text == "0.000" else ("" if percent == 0 else text)
