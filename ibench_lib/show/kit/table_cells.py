"""What a table's cell says: a number with what there is to say about its runs, or a status in its place."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping
from statistics import median
from typing import Any

import polars as pl

from ibench_lib.analysis.against import against_base
from ibench_lib.analysis.frames import (
    COVERED,
    UNSENT,
    by_position,
    distinct,
    little_covered,
    measured,
    repeats,
    rows_of,
    short_steps,
    steps_of,
)
from ibench_lib.analysis.ranks import CLOSE, Rank, rank_of_ratio, ranks_of
from ibench_lib.analysis.verdicts import BETTER, WORSE, Ratio
from ibench_lib.ask.bases import Bases, bases
from ibench_lib.base.wording import count, joined
from ibench_lib.show.kit.grid import Cell
from ibench_lib.show.kit.theme import RANK_WORDS, Mark
from ibench_lib.show.kit.wording import POWERED, RANGE, detectable_said, method_said

RUN_FAILED = "†"
CLIENT_BOUND = "‡"
LEAST = "≥"
DETECTABLE = f"The smallest detectable changes ({POWERED}):"
NOT_YET_KNOWN = "not yet known"
ALONE = "A ratio without an interval comes from one run; its noise is unknown."
RATE_WORDS: dict[Mark, str] = {"good": "faster", "bad": "slower", "sla_failed": "target missed", **RANK_WORDS}
"""The words of a table of `rate_cells`."""
_MOST_DIGITS = 6
_MARKED = {"better": f"faster: above {BETTER}", "worse": f"slower: below {WORSE}"}
_MARK_OF_RANK: dict[Rank, Mark] = {"top": "top", "bottom": "bottom", "missed": "sla_failed"}
_PERCENTILE = re.compile(r"(intended_|response_)?p\d+(_intended)?_m?s$")
NOT_RECORDED = "not recorded"
LOADED = "loaded from a snapshot"  # the step_status of a step that another run did for this one


def value_text(rows: list[dict[str, Any]], column: str, spec: str, shown: dict[str, Any] | None = None) -> str:
    """The median over complete repeats as text, with what there is to say about the runs; `-` where there is none.

    With `shown`, one of the rows, its value in the place of the median.
    """
    done = [row for row in rows if row["step_status"] == "complete"]
    values = [row[column] for row in done if row[column] is not None]
    if not values or (shown and shown[column] is None):
        return NOT_RECORDED if any(row.get("reason") for row in ([shown] if shown else done)) else "-"
    return format(shown[column] if shown else median(values), spec) + about_runs(rows, column, shown)


def size_text(text: str, rows: list[dict[str, Any]]) -> str:
    """The text of a size by the server's statistics: what is missing because they lag behind is not yet known."""
    if not any(row.get("statistics_lag") for row in rows if row["step_status"] == "complete"):
        return text
    return NOT_YET_KNOWN if text == "-" else text.replace("not captured", NOT_YET_KNOWN)


def about_runs(rows: list[dict[str, Any]], column: str, shown: dict[str, Any] | None = None) -> str:
    """What stands behind a number that is made of this column's values in complete repeats; empty if all is well.

    With `shown` the number is that of one of the rows.
    """
    done = [row for row in rows if row["step_status"] == "complete"]
    loaded = sum(row["step_status"] == LOADED for row in rows)
    unrecorded = sum(row[column] is None and bool(row.get("reason")) for row in done)
    missing = sum(row[column] is None for row in done) - unrecorded
    text = ""
    if loaded:
        text += f" ({loaded} of {len(rows)} {LOADED})"
    if len(done) + loaded < len(rows):
        text += f" ({len(rows) - len(done) - loaded} of {len(rows)} not complete)"
    if missing:
        text += f" ({missing} of {len(rows)} {why_missing(column)})"
    if unrecorded:
        text += f" ({unrecorded} of {len(rows)} {NOT_RECORDED})"
    told = [shown] if shown else done
    if any(row["run_status"] != "complete" for row in told):
        text += f" {RUN_FAILED}"
    if any(row.get("client_bound") for row in told):
        text += f" {CLIENT_BOUND}"
    return text


def why_missing(column: str) -> str:
    """Why a complete step has no value of a column: of a percentile there are too few responses."""
    return "with too few responses" if _PERCENTILE.match(column) else "not captured"


def least_notes(frame: pl.DataFrame) -> list[str]:
    """What the mark of a lower bound says, with the unsent part of each run that has one."""
    if "unsent_share" not in frame.columns:
        return []
    if not (frame["unsent_share"] >= UNSENT).any():
        return []
    late = frame.filter((pl.col("step_status") == "complete") & (pl.col("unsent_share") >= UNSENT))
    several = frame["dbms"].n_unique() > 1
    by_run = late.group_by("dbms", "repeat", maintain_order=True).agg(pl.col("unsent_share").max()).sort("repeat")
    shares = [
        f"{f'{dbms} ' if several else ''}r{repeat} {100 * share:.1f} %" for dbms, repeat, share in by_run.iter_rows()
    ]
    if not shares:
        return []
    never = "operations that were due and never sent are in no percentile"
    return [f"{LEAST} at least: {never} ({joined(shares)} of those due)."]


def spread_text(rows: list[dict[str, Any]], column: str, spec: str, *, any_status: bool = False) -> str:
    """The median of the repeats that have a value, the range of several, and what the others are.

    It is marked where a run did not complete. Values are of complete steps unless `any_status`.
    """
    known = [row for row in rows if row[column] is not None and (any_status or row["step_status"] == "complete")]
    others = [row["step_status"].replace("complete", "not captured") for row in rows if row not in known]
    values = [row[column] for row in known]
    text = format(median(values), spec)
    if len(values) > 1:
        text += f" ({format(min(values), spec)} to {format(max(values), spec)})"
    text += "".join(f" ({others.count(status)} of {len(rows)} {status})" for status in sorted(set(others)))
    return f"{text} {RUN_FAILED}" if any(row["run_status"] != "complete" for row in known) else text


def spread_notes(frame: pl.DataFrame, column: str) -> list[str]:
    """What the values of `spread_text` are of."""
    known = frame.filter(pl.col(column).is_not_null())
    most = repeats(known) if len(known) else 0
    notes = [f"Median of {_runs(known, most)} runs (lowest to highest)."] if most > 1 else ["One run, noise unknown."]
    broken = known.filter(pl.col("run_status") != "complete")
    return [*notes, f"{RUN_FAILED} of a run that did not complete."] if len(broken) else notes


def status_cell(rows: list[dict[str, Any]]) -> Cell | None:
    """A cell with the step's status when no repeat completed it; None when there is a number to show."""
    if any(row["step_status"] == "complete" for row in rows):
        return None
    return Cell(", ".join(sorted({row["step_status"] for row in rows})) or "no run", "status")


def run_status_cell(row: dict[str, Any]) -> Cell:
    """How a run ended, with its step and error when it did not complete."""
    if row["status"] == "complete":
        return Cell("complete")
    step = f" in {row['failed_step']}" if row["failed_step"] else ""
    error = f": {row['error']}" if row["error"] else ""
    return Cell(f"{row['status']}{step}{error}", "bad" if row["status"] == "failed" else "status")


def rate_cells(
    frame: pl.DataFrame,
    column: str,
    spec: str,
    base: str | Bases = "",
    ranks: bool = False,
    ratios: dict[tuple[str, str], Ratio] | None = None,
) -> tuple[dict[tuple[str, str], Cell], dict[tuple[str, str], Ratio]]:
    """Cells by step and dbms, of a figure of which more is better, and the ratios in them.

    Below the figure stands its ratio to the base (`Bases.of`), if there is one, with its interval. It is marked where
    it is beyond a threshold and its noise is known and does not explain it; a single run or a range is never marked.
    With `ranks` the marks are those of `analysis.ranks` instead: of the figure in its step, and of the ratio. `ratios`
    are those to show where the frame has only a part of the steps that are judged together.
    """
    compared_with = bases(base)
    if ratios is None:
        ratios = {(step, name): one for (_, step, _, name), one in against_base(frame, compared_with, [column]).items()}
    short = set(short_steps(frame)["step"])
    cells = {}
    for step in steps_of(frame):
        rows_by_name = {name: rows_of(frame, name, step) for name in by_position(frame)}
        missed = {name for name, rows in rows_by_name.items() if any(row.get("sla_failed") for row in rows)}
        ranked = _ranks(frame, step, column, missed) if ranks and step not in short else {}
        for name, rows in rows_by_name.items():
            text, other = value_text(rows, column, spec), compared_with.of(name)
            mark: Mark | None = _MARK_OF_RANK[ranked[name]] if name in ranked else None
            below: Mark | None = None
            if mark == "bottom" and name in missed:
                text += f" ({RATE_WORDS['sla_failed']})"
            if other and other != name and text != "-":
                ratio = ratios.get((step, name))
                text += f"\n{relative_text(ratio)}"
                if step not in short:
                    mark, below = (mark, rank_mark(ratio)) if ranks else (_mark(ratio), None)
            if name in missed and mark != "bottom":
                mark = "sla_failed"
            cells[step, name] = status_cell(rows) or Cell(text, mark, below)
    return cells, ratios


def _ranks(frame: pl.DataFrame, step: str, column: str, missed: Collection[str]) -> dict[str, Rank]:
    """The ranks of the medians of a step."""
    values = {name: measured(frame, name, step, column) for name in by_position(frame)}
    return ranks_of({name: median(of_name) for name, of_name in values.items() if of_name}, missed)


def rank_mark(found: Ratio | None) -> Mark | None:
    """The mark of a ratio as a rank."""
    return rank_of_ratio(found.value) if found else None


def rank_notes(base: str | Bases = "") -> list[str]:
    """What the marks of ranks say; without a base there are no ratios."""
    told = (
        "top, bottom: in the upper or lower quarter of the range that the results have in a step, as published reports "
        f"rank them; no figure is at the bottom if the lowest has {CLOSE} of the highest. A rank is no difference: "
        "chance alone makes ranks, too."
    )
    return [told, ratio_rank_note(bases(base).said)] if bases(base).names else [told]


def ratio_rank_note(said: str) -> str:
    """What the marks of ratios say; `said` is the base in words."""
    return f"above, below: over {BETTER} or under {WORSE} of {said}, be it by chance or not."


def relative_text(found: Ratio | None) -> str:
    """1.54x [1.43, 1.56]; with a range 1.54x (1.43 to 1.56); without either 1.54x."""
    if found is None:
        return "no base"
    return f"{point_text(found)}x{bounds_text(found)}"


def bounds_text(found: Ratio) -> str:
    """Behind a ratio: an interval as [1.43, 1.56], a range as (1.43 to 1.56)."""
    ends = f"{factor_text(found.low or 0)}, {factor_text(found.high or 0)}"
    return {"interval": f" [{ends}]", "range": f" ({ends.replace(', ', ' to ')})", "": ""}[found.bounds]


def two_lines(found: Ratio) -> str:
    """The ratio, and its interval or range below it."""
    return relative_text(found).replace(" ", "\n", 1)


def range_text(ratios: Collection[Ratio]) -> str:
    """The ratios as 0.62x to 0.71x, or as 0.62x where all read the same."""
    ends = dict.fromkeys(f"{factor_text(end(one.value for one in ratios))}x" for end in (min, max))
    return " to ".join(ends)


def factor_text(value: float) -> str:
    """A ratio to two decimals, fewer from 10 on, none from 30 on; below 0.1 as a fraction, such as 1/12.3 or 1/121.

    Thousands are not set apart: a comma stands between the ends of an interval.
    """
    if 0 < value < 0.095:
        return f"1/{float(f'{1 / value:.3g}'):g}" if value > 1e-5 else "<1/100000"
    if value >= 1e5 and not math.isinf(value):
        return ">100000"
    if value >= 9.995:
        return f"{value:.{1 if value < 29.95 else 0}f}"
    return f"{value:.2f}"


def point_text(found: Ratio) -> str:
    """The ratio itself, with more decimals where a clear one would read as the threshold that it is beyond: 0.949."""
    value, digits = found.value, 2
    if not found.is_clear:
        return factor_text(value)
    while digits < _MOST_DIGITS and (value < WORSE <= round(value, digits) or value > BETTER >= round(value, digits)):
        digits += 1
    return factor_text(value) if digits == 2 else f"{value:.{digits}f}"


def _mark(found: Ratio | None) -> Mark | None:
    """Only a difference that the noise does not explain is marked."""
    if found is None or not found.is_clear:
        return None
    return "good" if found.verdict == "better" else "bad"


def base_head(name: str, base: str | Bases) -> str:
    """The name of a row, which says if it is a base."""
    return f"{name} (base)" if name in bases(base).names else name


def setting_text(value: str | None) -> str:
    """The value of an option; None is an option that is not set."""
    return "not set" if value is None else value or "(empty)"


def value_cells(rows: list[dict[str, Any]], *columns: tuple[str, str]) -> list[Cell]:
    """A cell for each (column, format) of the rows of one dbms and step, or its status in all of them."""
    status = status_cell(rows)
    return [status or Cell(value_text(rows, column, spec)) for column, spec in columns]


def repeat_notes(frame: pl.DataFrame) -> list[str]:
    """How many runs stand behind a number, in words."""
    most = repeats(frame)
    if most <= 1:
        return ["One run, noise unknown."]
    return [f"Median of {_runs(frame, most)} runs."]


def _runs(frame: pl.DataFrame, most: int) -> str:
    """3, or up to 3 where a cell has fewer."""
    runs = Counter(row[:-1] for row in distinct(frame, "setup", "dbms", "step", "repeat"))
    return f"{most}" if set(runs.values()) <= {most} else f"up to {most}"


def interval_notes(
    frame: pl.DataFrame, ratios: Mapping[tuple[str, str], Ratio], base: str | Bases = "", ranks: bool = False
) -> list[str]:
    """What stands below a figure; `ratios` are those of the table by step and dbms. `ranks`: as for `rate_cells`."""
    shown, said = list(ratios.values()), bases(base).said
    relative = f"Below each figure: its ratio to {said}."
    ranked = rank_notes(base if shown else "") if ranks else []
    if not shown:
        return [*repeat_notes(frame), *ranked]
    if repeats(frame) <= 1:
        return [*repeat_notes(frame), relative if ranks else f"{relative} With one run nothing is marked.", *ranked]
    marks = [text for verdict, text in _MARKED.items() if any(one.is_clear and one.verdict == verdict for one in shown)]
    marks = [] if ranks else marks
    return [
        *repeat_notes(frame),
        relative + (f" {', '.join(marks)} of {said}, and not by chance." if marks else ""),
        *filter(None, [method_said(shown)]),
        *_detectable_notes(ratios),
        *([f"Where a side has only two runs left, {RANGE}"] if any(one.is_range for one in shown) else []),
        *([ALONE] if any(one.low is None for one in shown) else []),
        *ranked,
    ]


def _detectable_notes(ratios: Mapping[tuple[str, str], Ratio]) -> list[str]:
    """By step, the change that is marked where it is there."""
    steps = {step: detectable_said([ratio for (of, _), ratio in ratios.items() if of == step]) for step, _ in ratios}
    known = [f"{step} {text}" for step, text in steps.items() if text]
    return [f"{DETECTABLE} {', '.join(known)}."] if known else []


def coverage_notes(frame: pl.DataFrame) -> list[str]:
    """Why means and costs of some steps are left out, where they are."""
    thin = little_covered(frame)
    if thin.is_empty():
        return []
    return [
        f"No means or costs for {joined(steps_of(thin))} where the samples cover less than {COVERED * 100:.0f} % of "
        "the step, because they could be off by more than 5 %. Runs by a newer ibench also read the counters at both "
        "ends of each step."
    ]


def unrecorded_notes(frame: pl.DataFrame) -> list[str]:
    """Why response times of some runs were not recorded (`reason` of a question), where they were not."""
    if "reason" not in frame.columns or frame["reason"].null_count() == len(frame):
        return []
    unrecorded = frame.filter(pl.col("reason").is_not_null() & (pl.col("step_status") == "complete"))
    return [
        f"{NOT_RECORDED}: {joined(by_position(rows))} in {joined(steps_of(rows))}: {reason}."
        for (reason,), rows in unrecorded.group_by("reason", maintain_order=True)
    ]


def mark_notes(frame: pl.DataFrame) -> list[str]:
    """Explanations of the marks that this frame's rows bring into a table."""
    notes = []
    statuses = distinct(frame, "step_status", "run_status")
    if any(step == "complete" and run not in ("complete", None) for step, run in statuses):
        notes.append(f"{RUN_FAILED} of a run that did not complete.")
    if "client_bound" in frame.columns:
        keys = ["step_status", "dbms", "step", "client_bound", *(["run_id"] if "run_id" in frame.columns else [])]
        bound: dict[tuple[str, str], list[str]] = {}
        for status, name, step, why, *_ in distinct(frame, *keys):
            if status == "complete" and why is not None:
                bound.setdefault((name, step), []).append(why)
        for (name, step), reasons in bound.items():
            more = f"; the same in {count(len(reasons) - 1, 'more run')}" if len(reasons) > 1 else ""
            notes.append(f"{CLIENT_BOUND} {name}, {step}: limited by the clients: {reasons[0]}{more}.")
    return notes
