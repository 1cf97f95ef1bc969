"""Reading frames of the questions: which dbms and steps they hold, and what was measured for one."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import polars as pl

from ibench_lib.metrics import METRICS, step_words

SHORT_S = 1.0
"""Steps shorter than that say little of a configuration: start-up and a single hiccup are much of them."""

_PREPARING = ("load", "index", "prepare")
"""Kinds of steps that prepare what others measure, with a throughput that is a result."""

COVERED = 0.95
"""A step's means and costs are known where their readings cover this part of it (`macros/step_use.sql`)."""

OTHERS_PCT = 10.0
"""Costs of the whole host say little of a server where other processes had more of the CPU time (in %) than this."""

UNSENT = 0.001
"""From this share of unsent operations on, percentiles of the intended time are lower bounds."""

_MANY = 500
"""Rows of a frame from which on a plan of polars takes less time than to go through them."""


def by_position(frame: pl.DataFrame) -> list[str]:
    """The frame's dbms in the order in which the experiment ran them first."""
    first: dict[str, int] = {}
    for dbms, position in distinct(frame, "dbms", "dbms_position"):
        first[dbms] = min(position, first.get(dbms, position))
    return sorted(first, key=lambda dbms: (first[dbms], dbms))


def distinct(frame: pl.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    """The distinct rows of these columns, in the order of their first ones.

    polars hands each operation on a frame to a thread of its own, which takes longer than to go through a few rows.
    """
    if len(frame) > _MANY:
        frame = frame.select(columns).unique(maintain_order=True)
    return list(dict.fromkeys(zip(*(frame[column].to_list() for column in columns), strict=True)))


def short_names(names: Sequence[str], builds: Mapping[str, str], *, typed: bool = False) -> dict[str, str]:
    """Each dbms without the build, or the configuration, that all of them have; else the full names.

    `typed`: they are for somebody who types them into commands, which know no dbms by its build alone.
    """
    # What a dbms is beyond its configuration, such as (imported), stays.
    parts = {name: name.removeprefix(builds.get(name, name)).partition(" ") for name in names}
    shorter = {name: f"{builds.get(name, name)}{space}{origin}" for name, (_, space, origin) in parts.items()}
    all_have_it = len({configuration for configuration, *_ in parts.values()}) == 1
    if all_have_it and not typed and len({*shorter.values()}) == len(names) > 1:
        return shorter
    known = {builds.get(name) for name in names}
    prefix = f"{next(iter(known))}." if len(known) == 1 else ""
    if prefix and all(name.startswith(prefix) for name in names):
        return {name: name.removeprefix(prefix) for name in names}
    return {name: name for name in names}


def steps_of(frame: pl.DataFrame) -> list[str]:
    """The frame's steps in the order in which runs take them; the run that has most of them decides.

    Repeats may take them in another order than the first one, which has that of the experiment file.
    """
    last: dict[str, tuple[int, int]] = {}
    repeats = frame["repeat"].to_list() if "repeat" in frame.columns else [1] * len(frame)
    for step, step_id, repeat in zip(frame["step"].to_list(), frame["step_id"].to_list(), repeats, strict=True):
        first, position = last.get(step, (repeat, step_id))
        if repeat <= first:
            last[step] = repeat, step_id if repeat < first else max(step_id, position)
    return sorted(last, key=lambda step: (last[step][1], step))


def rows_of(frame: pl.DataFrame, dbms: str, step: str) -> list[dict[str, Any]]:
    """One row per repeat of a dbms and step."""
    return [dict(row) for row in _grouped(frame).get((dbms, step), ())]


_GROUPED: dict[int, tuple[weakref.ref[pl.DataFrame], dict[tuple[str, str], list[dict[str, Any]]]]] = {}


def _grouped(frame: pl.DataFrame) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The rows by dbms and step. Kept while the frame lives: a post asks for each of them many times."""
    kept = _GROUPED.get(id(frame))
    if kept is not None and kept[0]() is frame:
        return kept[1]
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in frame.iter_rows(named=True):
        groups.setdefault((row["dbms"], row["step"]), []).append(row)
    key = id(frame)
    _GROUPED[key] = weakref.ref(frame, lambda _: _GROUPED.pop(key, None)), groups
    return groups


def measured(
    frame: pl.DataFrame, dbms: str, step: str, column: str = "throughput", *, any_status: bool = False
) -> list[float]:
    """The values of a dbms and step, one per repeat, of complete steps unless `any_status`."""
    rows = rows_of(frame, dbms, step)
    return [row[column] for row in rows if row[column] is not None and (any_status or row["step_status"] == "complete")]


def rate_label(frame: pl.DataFrame, step: str) -> str:
    """What the rate of the step's main operations is called, such as inserts/s; throughput where nothing is known."""
    labels = (label for of, label in distinct(frame, "step", "rate_label") if of == step and label is not None)
    return str(next(labels, METRICS["throughput"].label))


def step_text(frame: pl.DataFrame, step: str, pattern: str = "{words} · {step}") -> str:
    """A step with what it is in words (`metrics.step_words`), if a frame with its kind tells; else its name alone."""
    column = next((name for name in ("step_kind", "kind") if name in frame.columns), None)
    kinds = distinct(frame, "step", column) if column else []
    words = step_words(step, next((kind for of, kind in kinds if of == step and kind is not None), None))
    return pattern.format(words=words, step=step) if words else step


def short_steps(frame: pl.DataFrame) -> pl.DataFrame:
    """`setup` and `step` of the steps that nobody who completed them took SHORT_S for: none of them is compared."""
    longest = frame.filter(pl.col("step_status") == "complete").group_by("setup", "step").agg(pl.max("duration_s"))
    return longest.filter(pl.col("duration_s") < SHORT_S).select("setup", "step")


def without_short_steps(frame: pl.DataFrame, rates: pl.DataFrame) -> pl.DataFrame:
    """The rows of an answer without those of short steps, by the answer that has how long they took."""
    return frame.join(short_steps(rates), on=["setup", "step"], how="anti", maintain_order="left")


def others_used_much(rows: list[dict[str, Any]]) -> bool:
    """Whether other processes had over OTHERS_PCT of the CPU time that was used, in any complete repeat."""
    shares = [row.get("other_cpu") for row in rows if row["step_status"] == "complete"]
    return any(share is not None and share > OTHERS_PCT for share in shares)


def preparing_steps(frame: pl.DataFrame, kind: str = "kind") -> set[str]:
    """The steps that only prepare what others measure. The column `kind` of the frame has the kinds of the steps."""
    return set(frame.group_by("step").agg(pl.col(kind).is_in(_PREPARING).all()).filter(kind)["step"])


def median_run(rows: list[dict[str, Any]], column: str) -> dict[str, Any] | None:
    """The complete repeat with the median of a column, the lower of the two in the middle of an even number.

    Figures of one row that belong together are all of this run: medians of each would be of different runs.
    """
    known = [row for row in rows if row["step_status"] == "complete" and row[column] is not None]
    known.sort(key=lambda row: (row[column], row["repeat"]))
    return known[(len(known) - 1) // 2] if known else None


def middle_run(rows: list[dict[str, Any]], column: str) -> dict[str, Any]:
    """The middle one of a result's repeats (`median_run`), else the first one."""
    return median_run(rows, column) or min(rows, key=lambda row: row["repeat"])


def middle_runs(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """`step_id` and `run_id` of the middle one of each result's repeats (`middle_run`)."""
    results: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in frame.iter_rows(named=True):
        results.setdefault((row["setup"], row["step"], row["dbms"]), []).append(row)
    middle = [
        {"step_id": one["step_id"], "run_id": one["run_id"]}
        for one in (middle_run(rows, column) for rows in results.values())
    ]
    return pl.DataFrame(middle, schema={"step_id": frame.schema["step_id"], "run_id": frame.schema["run_id"]})


def little_covered(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of complete steps whose means and costs are not known, because too little of the step was covered."""
    if "covered" not in frame.columns or not (frame["covered"] < COVERED).any():
        return frame.clear()
    return frame.filter((pl.col("step_status") == "complete") & (pl.col("covered") < COVERED))


def repeats(frame: pl.DataFrame) -> int:
    """The largest number of runs of any cell."""
    runs = Counter((setup, dbms) for setup, dbms, _ in distinct(frame, "setup", "dbms", "repeat"))
    return max(runs.values(), default=0)


def listed(values: pl.Series) -> list[Any]:
    """The distinct values in the order of their first rows, without NULLs."""
    return values.drop_nulls().unique(maintain_order=True).to_list()


def is_least(rows: Sequence[Mapping[str, Any]], column: str) -> bool:
    """Whether the median of an intended time is a lower bound: that of a run no longer than it is.

    What was due and never sent (`unsent_share`) has waited longer than most, and is in no percentile.
    """
    done = [row for row in rows if row["step_status"] == "complete" and row[column] is not None]
    middle = median(row[column] for row in done) if done else 0.0
    return any((row.get("unsent_share") or 0.0) >= UNSENT and row[column] <= middle for row in done)


def hosts_differ(hosts: pl.DataFrame) -> bool:
    """Whether some property differs that is recorded of two hosts: of imported runs, files may say a part of them."""
    about = hosts.drop(["runs", "dbms", "holds_data"], strict=False)
    return any(about[column].drop_nulls().n_unique() > 1 for column in about.columns)
