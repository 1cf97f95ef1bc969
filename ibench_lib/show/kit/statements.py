"""What sentences of all subjects share: which columns there are, what did not complete, what is said with a number."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from statistics import median
from typing import Any, TypeVar

import polars as pl

from ibench_lib.analysis.frames import SHORT_S, by_position, measured, rows_of, short_steps, steps_of
from ibench_lib.analysis.verdicts import BETTER, FAR, WORSE, Ratio, ratio
from ibench_lib.base.wording import count, joined, shortened
from ibench_lib.show.kit.table_cells import relative_text
from ibench_lib.show.kit.wording import RANGE, method_said

NOISE_UNKNOWN = "One run of each: the noise is unknown."
ONE_RUN = (
    "A ratio without an interval comes from one run, so it may be noise. It is listed if it is below "
    f"{WORSE} or above {BETTER}."
)
TWO_RUNS = f"Two runs: {RANGE}"
NOT_TO_DO = ("loaded from a snapshot", "not published")
"""`step_status` of steps that have no figure, and are neither missing nor failed."""


class Statement(str):
    """A sentence of a post. `loud`: nobody should overlook it, and pages show it so."""

    loud: bool

    def __new__(cls, text: str, *, loud: bool = False) -> Statement:
        made = super().__new__(cls, text)
        made.loud = loud
        return made


def attention(text: str) -> Statement:
    """A sentence that nobody should overlook, which says so."""
    return Statement(f"Attention: {text}", loud=True)


Subject = TypeVar("Subject", bound=Callable[..., Sequence[str]])


def asks(*questions: str, base: bool = False) -> Callable[[Subject], Subject]:
    """Mark a function of statements with the questions whose answers it takes, in the order of its parameters.

    With `base` it also takes the dbms to compare with, as the parameter of that name.
    """

    def mark(subject: Subject) -> Subject:
        subject.asks, subject.takes_base = questions, base  # type: ignore[attr-defined]
        return subject

    return mark


def columns_of(frame: pl.DataFrame) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """(setup, step, rows) of each column of a post's tables."""
    if frame.is_empty():
        return
    for of_setup in sorted(frame.partition_by("setup", maintain_order=True), key=lambda rows: rows["setup"][0]):
        of_step = {rows["step"][0]: rows for rows in of_setup.partition_by("step", maintain_order=True)}
        for step in steps_of(of_setup):
            yield of_setup["setup"][0], step, of_step[step]


def complete(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of steps that ended."""
    return frame.filter(pl.col("step_status") == "complete")


def extent(frame: pl.DataFrame) -> str:
    """How much was looked at: 3 results in 2 steps; a step counts once a setup."""
    steps = frame.unique(["setup", "step"]).height
    return f"{count(frame['dbms'].n_unique(), 'result')} in {count(steps, 'step')}"


def without_short(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The complete steps but those that nobody took a second for, and at most one sentence that names these."""
    done = complete(frame)
    short = done.join(short_steps(done), on=["setup", "step"], how="semi")
    items = []
    for setup in short["setup"].unique().sort():
        of_setup = short.filter(pl.col("setup") == setup)
        seconds = sorted(of_setup["duration_s"].drop_nulls())
        took = " to ".join(dict.fromkeys(f"{end:.2f}" for end in (seconds[0], seconds[-1])))
        items.append(f"{joined(steps_of(of_setup))} in {setup} ({took} s)")
    sentences = [f"Too short to compare (under {SHORT_S:.0f} s): {shortened(items)}."] if items else []
    return done.join(short, on=["setup", "step"], how="anti"), sentences


def results(frame: pl.DataFrame) -> pl.DataFrame:
    """Without steps whose throughput is no result, such as a warm-up, unless there is no other."""
    if "compared" not in frame.columns:
        return frame
    compared = frame.filter(pl.col("compared").fill_null(True))
    return frame if compared.is_empty() else compared


def unfinished(frame: pl.DataFrame) -> list[str]:
    """At most one sentence: which steps did not complete, so that nothing else is said of them.

    Steps that no run set out to do (loaded from a snapshot, not published) are not among them.
    """
    frame = frame.filter(~pl.col("step_status").is_in(NOT_TO_DO))
    items_of: dict[tuple[str, str], list[str]] = {}
    for setup, step, rows in columns_of(frame):
        for name in by_position(rows):
            mine = rows_of(rows, name, step)
            broken = [row for row in mine if row["step_status"] != "complete"]
            if broken:
                text = f"{step} {joined(sorted({row['step_status'] for row in broken}))}"
                runs = {row["repeat"] for row in mine}
                if len(runs) > 1:
                    text += f" in {len({row['repeat'] for row in broken})} of {len(runs)} runs"
                items_of.setdefault((setup, name), []).append(text)
    if not items_of:
        return []
    items = [f"{name} in {setup} ({', '.join(text)})" for (setup, name), text in items_of.items()]
    return [f"Not compared, because not complete: {shortened(items)}."]


NOT_RECORDED = "completed; it is not recorded which checks of the data were made"
"""The rest of a verdict on runs that are older than the table `checks`."""


def verdict(held: int, runs: int, proves: str, setup: str = "") -> list[str]:
    """Whether the checks of a workload held: a complete run is one for which all of them did.

    `proves` is the rest of the sentence on the `held` complete ones of all runs. `setup` is named if it is given.
    """
    every = "the run" if runs == 1 else f"all {held} runs" if held == runs else f"{held} of {runs} runs"
    sentences = [f"Verdict{f' on {setup}' if setup else ''}: {every} {proves}."] if held else []
    if held < runs:
        whose = "its" if runs - held == 1 else "their"
        sentences.append(
            attention(f"{count(runs - held, 'run')} did not complete, so nothing is proven about {whose} data.")
        )
    return sentences


def proven(checks: pl.DataFrame, experiment: str, setup: str, complete: int) -> tuple[set[str], set[str]]:
    """The rules (`checks`) that held in all `complete` runs of a setup, and those that a defect of a profile broke.

    A run that began with a snapshot did not do the steps before it: they were checked in the run that loaded it.
    """
    mine = checks.filter((pl.col("experiment") == experiment) & (pl.col("setup") == setup))
    broken = set(mine.filter(pl.col("broken") > 0)["rule"])
    if mine.is_empty() or max(mine["complete"].to_list()) < complete:
        return set(), broken
    in_all = mine.filter(pl.col("complete") == pl.col("complete").max().over("step"))
    return set(in_all["rule"]) - broken, broken


def caveats(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What must be said next to the number of one dbms and step, whose rows these are."""
    done = [row for row in rows if row["step_status"] == "complete"]
    reasons = []
    if any(row["run_status"] != "complete" for row in done):
        reasons.append("from a run that did not complete")
    if any(row.get("client_bound") for row in done):
        reasons.append("limited by the clients")
    if any(row.get("sla_failed") for row in done):
        reasons.append("missed a target rate")
    return reasons


def caveated(text: str, rows: Sequence[dict[str, Any]]) -> str:
    """The text with the caveats of its rows behind it, in brackets."""
    reasons = caveats(rows)
    return f"{text} ({', '.join(reasons)})" if reasons else text


def ratio_text(found: Ratio) -> str:
    """1.42x [1.38, 1.45], or without an interval: 1.42x, one run; of two runs the range, which is said."""
    alone = ", one run" if found.low is None or found.high is None else ""
    return f"{relative_text(found)}{alone}{', range of two runs' if found.is_range else ''}"


def noise_said(ratios: Collection[Ratio]) -> list[str]:
    """What chance does to these ratios: a sentence on those of one run, of two, and of more."""
    return [
        *([ONE_RUN] if any(ratio.low is None for ratio in ratios) else []),
        *([TWO_RUNS] if any(ratio.is_range for ratio in ratios) else []),
        *filter(None, [method_said(ratios)]),
    ]


def over_ten_times(
    frame: pl.DataFrame, column: str, least: float, text: Callable[[float], str], what: str
) -> list[str]:
    """Steps in which a figure of which less is better is over ten times the best of its column, and over `least`.

    `text` puts a value into words, and `what` says what has it.
    """
    sentences = []
    compared = 0
    most = 0
    for setup, step, rows in columns_of(complete(frame)):
        runs = {name: values for name in by_position(rows) if (values := measured(rows, name, step, column))}
        if len(runs) < 2:
            continue
        compared += 1
        most = max(most, *map(len, runs.values()))
        best = min(runs, key=lambda name: median(runs[name]))
        limit = max(FAR * median(runs[best]), least)
        over = sorted((name for name in runs if max(runs[name]) > limit), key=lambda name: -median(runs[name]))
        if over:
            mine = {name: [row for row in rows_of(rows, name, step) if row[column] is not None] for name in runs}
            items = [
                f"{name} ({', '.join([_far_item(runs[name], runs[best], limit, text), *caveats(mine[name])])})"
                for name in over
            ]
            sentences.append(
                f"{setup}, {step}: {what} is over {text(least)} and more than {FAR:.0f}x the smallest "
                f"({text(median(runs[best]))} with {caveated(best, mine[best])}): {shortened(items, ', ')}."
            )
    if compared and not sentences:
        sentences.append(
            f"{what[0].upper()}{what[1:]} is never both over {FAR:.0f}x the smallest of its step and over "
            f"{text(least)} ({count(compared, 'step')} compared)."
        )
    return [*([NOISE_UNKNOWN] if sentences and most == 1 else []), *sentences, *unfinished(frame)]


def _far_item(values: list[float], best: list[float], limit: float, text: Callable[[float], str]) -> str:
    """A value, with the range of its runs, and whether it is over the limit in all of them."""
    if len(values) == 1:
        return text(values[0])
    item = f"median {text(median(values))}, {text(min(values))} to {text(max(values))} in {len(values)} runs"
    over = sum(value > limit for value in values)
    to_best = ratio(values, best)
    if over < len(values):
        return f"{item}, over the limit in {over} of them"
    # Above the limit in every run, but the best itself varies.
    noisy = to_best is not None and to_best.low is not None and to_best.low <= FAR
    return f"{item}, not clear of the noise" if noisy else item
