"""Throughput and tail latency of every result of a selection as rows: what was measured, relative to its base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean, median

import polars as pl

from ibench_lib.analysis.against import against_base
from ibench_lib.analysis.frames import (
    SHORT_S,
    by_position,
    is_least,
    measured,
    preparing_steps,
    rate_label,
    rows_of,
    short_steps,
    steps_of,
)
from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.ask.bases import Bases
from ibench_lib.ask.selection import Selection
from ibench_lib.base.wording import joined


@dataclass(frozen=True)
class SummaryRow:
    """One dbms in one step of one setup.

    Attributes
    ----------
    rate : what is counted, such as inserts/s, or the percentile, such as p99 of insert (ms).
    runs : complete repeats; `value`, `lowest` and `highest` are their median and range, None without any.
    mean : the geometric mean of the repeats, of which `ratio` is one; None if they have none.
    base : what `ratio` is relative to; empty for the first base. `low` and `high` bound the ratio.
    bounds : interval (of 95 %), or range (of the ratio); empty without any.
    p : of the ratio; None where the noise is not known.
    verdict : base, faster, slower, same (no difference of 5 % or more), unclear, one run, two runs (too few to know the
        noise), under 1 s (nobody took a second for the step, so there is no ratio), no base, or the step's status.
    at_least : the value is a percentile that leaves out operations which were due and never sent.
    reason : why the value was not recorded; None if it was, or for another cause.
    repeats : about so many of each would find a change of 10 %; None if the noise is not known, or it takes too many.
    is_base : whether others may be compared with it; the base of a build has itself a ratio, to the first base.
    """

    setup: str
    step: str
    dbms: str
    rate: str
    runs: int
    value: float | None
    lowest: float | None
    highest: float | None
    mean: float | None
    base: str
    ratio: float | None
    low: float | None
    high: float | None
    bounds: str
    p: float | None
    verdict: str
    is_base: bool
    at_least: bool
    reason: str | None = None
    repeats: int | None = None


_LOADED = "loaded from a snapshot"


def main_first(rows: Sequence[SummaryRow], frame: pl.DataFrame) -> list[SummaryRow]:
    """The rows of results first, then those of steps that prepare data, then those of warm-ups and checks.

    `frame`: `step_throughput`, which has the kinds of the steps. Within each of these three the order stays.
    """
    prepares = preparing_steps(frame)
    kinds = frame.group_by("step").agg(pl.col("compared").any())
    ranks = {step: 2 if not compared else 1 if step in prepares else 0 for step, compared in kinds.rows()}
    return sorted(rows, key=lambda row: ranks[row.step])


def summary(frame: pl.DataFrame, bases: Bases) -> list[SummaryRow]:
    """The rows of `step_throughput`, by setup, step and dbms, each base before what is compared with it.

    The ratios are those of the posts. A dbms has no row for a step that all of its runs loaded from a snapshot.
    """
    labels = {step: rate_label(frame, step) for step in steps_of(frame)}
    return _rows(frame, bases, "throughput", labels)


def tails(responses: pl.DataFrame, rates: pl.DataFrame, bases: Bases) -> list[SummaryRow]:
    """The 99th percentiles of the first main operation of each step (`response_time_histogram`), as such rows.

    Those of a paced operation count from when it was due. `rates`: `step_throughput`, which knows how long steps took.
    """
    lengths = rates.select("run_id", "step_id", "duration_s", "compared").unique()
    main = responses.filter(pl.col("rated") & pl.col("of_main")).filter(
        pl.col("operation_position") == pl.col("operation_position").min().over("setup", "step")
    )
    # By name, intended comes before service.
    first = main.filter(pl.col("timing") == pl.col("timing").min().over("setup", "step"))
    frame = _tail(first, lengths)
    # The noise of a percentile is that of all steps which have it; of a paced operation only the intended times count.
    counted = responses.filter(pl.col("timing") == pl.col("timing").min().over("setup", "step", "operation"))
    is_first = first.select("setup", "step", "operation", "timing").unique().with_columns(shown=pl.lit(True))
    every = _tail(counted, lengths).join(is_first, on=["setup", "step", "operation", "timing"], how="left")
    every = every.with_columns(
        figure=pl.concat_str("operation", "timing", separator=", "), shown=pl.col("shown").fill_null(False)
    )
    labels = {
        step: f"p99 of {operation.replace('_', ' ')}{', intended' if timing == 'intended' else ''} (ms)"
        for step, operation, timing in frame.select("step", "operation", "timing").unique().sort("timing").iter_rows()
    }
    return _rows(frame, bases, "p99_ms", labels, every, less_is_better=True)


def selected_rows(
    post: Selection, steps: str | Sequence[str] = (), only: Sequence[str] = (), *, with_tails: bool = False
) -> list[SummaryRow]:
    """The rows of these steps and results, all if none are named; main steps first.

    The noise is that of all that was chosen, whatever is shown, so that a figure does not depend on what is next to it.
    """
    rates = post.ask("step_throughput")
    every = summary(rates, post.bases)
    if with_tails:
        every += tails(post.ask("response_time_histogram"), rates, post.bases)
    shown = [steps] if isinstance(steps, str) and steps else steps
    return [
        row for row in main_first(every, rates) if (not shown or row.step in shown) and (not only or row.dbms in only)
    ]


def _tail(responses: pl.DataFrame, lengths: pl.DataFrame) -> pl.DataFrame:
    return responses.with_columns(p99_ms=1e3 * pl.col("p99_s")).join(lengths, on=["run_id", "step_id"], how="left")


def _rows(
    frame: pl.DataFrame,
    bases: Bases,
    column: str,
    labels: Mapping[str, str],
    every: pl.DataFrame | None = None,
    *,
    less_is_better: bool = False,
) -> list[SummaryRow]:
    ratios = against_base(frame if every is None else every, bases, [column])
    compared = []
    for setup in frame["setup"].unique().sort():
        of_setup = frame.filter(pl.col("setup") == setup)
        short = set(short_steps(of_setup)["step"])
        names = bases.ordered(by_position(of_setup))
        for step in steps_of(of_setup):
            for name in names:
                rows = rows_of(of_setup, name, step)
                if all(row["step_status"] == _LOADED for row in rows):
                    continue  # it has no row, or no figure of its own
                values, other = measured(of_setup, name, step, column), bases.of(name)
                one = ratios.get((setup, step, column, name))
                statuses = joined(sorted({row["step_status"] for row in rows} - {"complete"}))
                judged = _verdict(one, step in short, less_is_better=less_is_better)
                verdict = statuses if not values else "base" if name == other else judged
                shown = None if step in short else one
                least = is_least(rows, column)
                why = next((row["reason"] for row in rows if row.get("reason")), None) if not values else None
                if why:
                    verdict = verdict or "not recorded"
                one_row = _row(setup, step, name, labels[step], values, bases, shown, verdict, least)
                compared.append(replace(one_row, reason=why))
    return compared


def _row(
    setup: str,
    step: str,
    name: str,
    rate: str,
    values: list[float],
    bases: Bases,
    one: Ratio | None,
    verdict: str,
    at_least: bool,
) -> SummaryRow:
    return SummaryRow(
        setup=setup,
        step=step,
        dbms=name,
        rate=rate,
        runs=len(values),
        value=median(values) if values else None,
        lowest=min(values, default=None),
        highest=max(values, default=None),
        mean=geometric_mean(values) if values and min(values) > 0 else None,
        base="" if name == bases.of(name) else bases.of(name),
        ratio=one.value if one else None,
        low=one.low if one else None,
        high=one.high if one else None,
        bounds=one.bounds if one else "",
        p=one.p if one else None,
        verdict=verdict,
        is_base=name in bases.names,
        at_least=at_least,
        repeats=one.repeats if one else None,
    )


def _verdict(found: Ratio | None, short: bool, *, less_is_better: bool) -> str:
    if found is None:
        return "no base"
    if short:
        return f"under {SHORT_S:.0f} s"
    if found.low is None:
        return "one run"
    if found.p is None:
        return "two runs"
    if found.verdict != "same":
        return "faster" if (found.verdict == "better") != less_is_better else "slower"
    return "same" if found.is_even else "unclear"
