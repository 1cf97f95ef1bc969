"""Releases in their order: how they were built, their rates, and what an operation costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median

import polars as pl

from ibench_lib.analysis.history import (
    NONE_LINKED,
    RATE,
    TOLD_NOTHING,
    Build,
    History,
    Line,
    allocator_of,
    columns_of_costs,
    compiler_of,
    format_of,
    head_of,
    steps_in,
    tls_of,
)
from ibench_lib.analysis.verdicts import BETTER, WORSE, Ratio
from ibench_lib.metrics import METRICS
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.table_cells import DETECTABLE
from ibench_lib.show.kit.theme import Mark
from ibench_lib.show.kit.wording import RANGE, detectable_said, method_said, without_brackets

_MARKS: dict[str | None, Mark] = {"better": "good", "worse": "bad"}
_LEFT_OUT = {"the clients limited the step": "limited by the clients", "the step took less than 1 s": "under 1 s"}


@answers("builds", "No build has a place in the order of releases.", by="line")
def release_builds(frame: pl.DataFrame, history: History) -> Grid:
    """The builds of one line, oldest first, and how each was made (`builds`, `release_points`)."""
    line = history.line(frame["line"][0])
    heads = ["version", "released", "compiler", "build id, symbols", "allocator", "TLS library", "compiled for"]
    grid = Grid(f"builds.{line.label}", f"Builds, oldest first: {line.label}", "build", heads, left=True)
    for build in line.builds:
        facts = build.facts
        unknown = TOLD_NOTHING if facts["told"] else "not recorded"
        none_linked = NONE_LINKED if facts["stripped"] is not None else unknown
        symbols = {True: "stripped", False: "with symbols", None: None}[facts["stripped"]]
        comment = without_brackets(facts["version_comment"] or "")
        texts = (
            facts["server_version"] + (f" ({comment})" if comment else ""),
            build.dated.text if build.dated else "not known",
            compiler_of(build) or unknown,
            ", ".join(filter(None, [(facts["build_id"] or "")[:12], symbols])) or unknown,
            allocator_of(build) or none_linked,
            " ".join((tls_of(build) or "").split()[:2]) or none_linked,
            " ".join(filter(None, [facts["compile_os"], facts["compile_machine"]])) or "not recorded",
        )
        grid.rows.append((build.text, [Cell(text) for text in texts]))
    tagged = any(build.dated and build.dated.tagged for build in line.builds)
    grid.notes = [
        *(["Tagged: the day of the tag of its source, some weeks before the release."] if tagged else []),
        "Build id: its first 12 digits. Allocator and TLS library: as the server reports them, otherwise the shared "
        "library that its binary links.",
    ]
    return grid


@answers("release_points", "No rate to show.", by="line")
def release_rates(frame: pl.DataFrame, history: History) -> Grid:
    """The rate of each step with each release of one line (`release_points`)."""
    line, steps = history.line(frame["line"][0]), steps_in(frame)
    grid, rates = _rates_grid(frame, line, "rates", "Rates"), _Rows(frame)
    for build in line.builds:
        cells = [_value_cell(rates.of(step, RATE, build), format_of(RATE)) for step in steps]
        grid.rows.append((build.text, cells))
    grid.notes = [_runs_note(frame)]
    return grid


@answers("release_points", "No rate to show.", by="line")
def release_rates_to_base(frame: pl.DataFrame, history: History) -> Grid:
    """The rate of each step relative to the oldest release of the line (`release_points`)."""
    line, steps = history.line(frame["line"][0]), steps_in(frame)
    grid, rates = _rates_grid(frame, line, "rates-to-base", f"Rates relative to {line.base.text}"), _Rows(frame)
    for build in line.builds:
        cells = [_to_base(rates.of(step, RATE, build), history, (line.label, step, RATE, build.name)) for step in steps]
        grid.rows.append((_base_text(line, build), cells))
    shown = {(step, RATE): step for step in steps}
    grid.notes = _base_notes(frame, history, line, shown)
    return grid


@answers("release_points", "No rate to show.", by="line")
def release_rates_to_before(frame: pl.DataFrame, history: History) -> Grid:
    """The rate of each step relative to the previous release (`release_points`); marked where a change was found."""
    line, steps = history.line(frame["line"][0]), steps_in(frame)
    grid, rates = _rates_grid(frame, line, "rates-to-before", "Rates relative to the previous release"), _Rows(frame)
    changes = {(step, one.after): one.direction for step in steps for one in history.found(line.label, step, RATE)}
    for _, build in pairwise(line.builds):
        cells = []
        for step in steps:
            ratio = history.to_before.get((line.label, step, RATE, build.name))
            cells.append(_ratio_cell(rates.of(step, RATE, build), ratio, _MARKS.get(changes.get((step, build.name)))))
        grid.rows.append((build.text, cells))
    shown = [one for (of, *_), one in history.to_before.items() if of == line.label]
    grid.notes = [
        "better, worse: the history of the step has a change at this release (see the sentences above). The mark "
        "belongs to that change, not to this ratio alone.",
        *(["[low, high] is the 95 % interval of a ratio of geometric means."] if any(one.p for one in shown) else []),
        *([f"Where there are two runs, {RANGE}"] if any(one.is_range for one in shown) else []),
    ]
    return grid


@answers("release_points", "No rate differs from that of the oldest release by more than noise.", by="line")
def release_reasons(frame: pl.DataFrame, history: History) -> Grid:
    """Next to the rates that differ from the oldest release, the costs that do (a line of `History.differing`)."""
    line, places = history.line(frame["line"][0]), []
    for step in steps_in(frame):
        for build in line.builds:
            ratio = history.to_base.get((line.label, step, RATE, build.name))
            places += [(step, build)] if ratio is not None and ratio.is_clear else []
    of_line = [column for column in columns_of_costs(frame) if METRICS[column.partition(" ")[0]].of == "step"]
    clear = [
        column for column in of_line
        if any(_is_clear(history, (line.label, step, column, build.name)) for step, build in places)
    ]  # fmt: skip
    heads = ["rate", *map(head_of, clear)]
    title = f"Costs where the rate differs, relative to {line.base.text}: {line.label}"
    grid, rows = Grid(f"reasons.{line.label}", title, "step, build", heads), _Rows(frame)
    for step, build in places:
        cells = [
            _to_base(rows.of(step, column, build), history, (line.label, step, column, build.name))
            for column in (RATE, *clear)
        ]
        grid.rows.append((f"{step}: {build.text}", cells))
    grid.notes = [
        _meanings(clear) if clear else "No difference found in any cost of a rate that differs.",
        *(
            ["-: not captured, or no larger than its rounding."]
            if any(c.text == "-" for _, row in grid.rows for c in row)
            else []
        ),
        "Intervals and marks are as in the tables of rates and costs.",
    ]
    return grid


def _is_clear(history: History, place: tuple[str, str, str, str]) -> bool:
    ratio = history.to_base.get(place)
    return ratio is not None and ratio.is_clear


@answers("release_points", "No cost was captured.", by=["step", "line"], heading="step", anchor="costs")
def release_costs(frame: pl.DataFrame, history: History) -> Grid:
    """What an operation of one step costs with each release of one line (`release_points`)."""
    line, step, columns = history.line(frame["line"][0]), frame["step"][0], columns_of_costs(frame)
    grid, rows = _costs_grid(line, step, columns, "costs", "Costs in"), _Rows(frame)
    for build in line.builds:
        cells = [_value_cell(rows.of(step, column, build), format_of(column)) for column in columns]
        grid.rows.append((build.text, cells))
    grid.notes = [_runs_note(frame), _meanings(columns)]
    return grid


@answers("release_points", "No cost was captured.", by=["step", "line"], heading="step", anchor="costs")
def release_costs_to_base(frame: pl.DataFrame, history: History) -> Grid:
    """What an operation of one step costs, relative to the oldest release of the line (`release_points`)."""
    line, step, columns = history.line(frame["line"][0]), frame["step"][0], columns_of_costs(frame)
    grid = _costs_grid(line, step, columns, "costs-to-base", f"Costs relative to {line.base.text} in")
    rows = _Rows(frame)
    for build in line.builds:
        cells = [
            _to_base(rows.of(step, column, build), history, (line.label, step, column, build.name))
            for column in columns
        ]
        grid.rows.append((_base_text(line, build), cells))
    grid.notes = [
        *_base_notes(frame, history, line, {(step, column): head_of(column) for column in columns}),
        "- not compared: the oldest release has no value, some values are 0, or all are as small as their rounding.",
    ]
    return grid


class _Rows:
    """The rows of a frame by step, column and build."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._empty = frame.clear()
        groups = frame.group_by("step", "column", "build", maintain_order=True)
        self._groups = {(str(step), str(column), str(build)): rows for (step, column, build), rows in groups}

    def of(self, step: str, column: str, build: Build) -> pl.DataFrame:
        return self._groups.get((step, column, build.name), self._empty)


def _rates_grid(frame: pl.DataFrame, line: Line, name: str, title: str) -> Grid:
    steps = steps_in(frame)
    labels = dict(frame.filter(pl.col("column") == RATE).select("step", "rate_label").drop_nulls().rows())
    spanners: list[tuple[str, list[int]]] = []
    for position, step in enumerate(steps):
        label = labels.get(step, METRICS["throughput"].label)
        if spanners and spanners[-1][0] == label:
            spanners[-1][1].append(position)
        else:
            spanners.append((label, [position]))
    return Grid(f"{name}.{line.label}", f"{title}: {line.label}", "build", steps, spanners=spanners)


def _costs_grid(line: Line, step: str, columns: Sequence[str], name: str, title: str) -> Grid:
    heads = [head_of(column) for column in columns]
    return Grid(f"{name}.{step}.{line.label}", f"{title} {step}: {line.label}", "build", heads)


def _base_text(line: Line, build: Build) -> str:
    return f"{build.text} (base)" if build is line.base else build.text


def _value_cell(rows: pl.DataFrame, spec: str) -> Cell:
    """The median of the runs that count, and how many do not; or why there is none."""
    values = rows["value"].drop_nulls().to_list()
    if not values:
        return _none(rows)
    left = len(rows) - len(values)
    return Cell(format(median(values), spec) + (f" ({left} of {len(rows)} left out)" if left else ""))


def _none(rows: pl.DataFrame) -> Cell:
    """Why there is no value."""
    if rows.is_empty():
        return Cell("no value", "status")
    if rows["missed"].any():
        return Cell("target", "sla_failed")
    problems = rows["problem"].drop_nulls().unique().sort().to_list()
    return Cell(_LEFT_OUT.get(problems[0], "not complete") if problems else "not captured", "status")


def _to_base(rows: pl.DataFrame, history: History, place: tuple[str, str, str, str]) -> Cell:
    """A ratio to the base, marked where it is clear and cannot be one of hosts or of time."""
    label, _, column, name = place
    line, ratio = history.line(label), history.to_base.get(place)
    if name == line.base.name:
        if rows["value"].is_null().all():
            return _none(rows)
        return Cell("1.00") if any(other[:3] == place[:3] for other in history.to_base) else Cell("-", "status")
    return _ratio_cell(rows, ratio, _mark(ratio, column) if line.unfit is None else None)


def _mark(found: Ratio | None, column: str) -> Mark | None:
    """Clear ones only: the ratio of single runs has no mark."""
    if found is None or not found.is_clear:
        return None
    better = "higher" if column == RATE else METRICS[column.partition(" ")[0]].better
    if better == "neither":
        return None
    return "good" if (found.verdict == "better") == (better == "higher") else "bad"


def _ratio_cell(rows: pl.DataFrame, found: Ratio | None, mark: Mark | None) -> Cell:
    if rows["value"].is_null().all():
        return _none(rows)
    if found is None:
        return Cell("-", "status")
    ends = f"{found.low or 0:.2f}, {found.high or 0:.2f}"
    bounds = {"interval": f" [{ends}]", "range": f" ({ends.replace(', ', ' to ')})", "": ""}[found.bounds]
    return Cell(f"{found.value:.2f}{bounds}", mark)


def _runs_note(frame: pl.DataFrame) -> str:
    counts = frame.drop_nulls("value").group_by("build", "step", "column").len()["len"].to_list()
    most = max(counts, default=0)
    up_to = "up to " if len(set(counts)) > 1 else ""
    return f"Median of {up_to}{most} runs." if most > 1 else "One run, noise unknown."


def _base_notes(frame: pl.DataFrame, history: History, line: Line, shown: Mapping[tuple[str, str], str]) -> list[str]:
    """What stands next to ratios to the base; `shown` has the heads of the places (step, column)."""
    ratios = {place: one for place, one in history.to_base.items() if place[0] == line.label and place[1:3] in shown}
    limits = {
        head: detectable_said([one for place, one in ratios.items() if place[1:3] == of]) for of, head in shown.items()
    }
    known = [f"{head} {limit}" for head, limit in limits.items() if limit]
    marks = f"better, worse: above {BETTER} or below {WORSE} of the oldest release, and not by chance."
    if line.unfit:
        marks = f"Nothing is marked in this history: {line.unfit}."
    return [
        _runs_note(frame),
        *filter(None, [method_said(ratios.values())]),
        *([f"{DETECTABLE} {', '.join(known)}."] if known and not line.unfit else []),
        *([f"Where there are two runs, {RANGE}"] if any(one.is_range for one in ratios.values()) else []),
        *(
            ["A ratio without an interval comes from one run; its noise is unknown."]
            if _single(ratios.values())
            else []
        ),
        marks,
    ]


def _single(ratios: Iterable[Ratio]) -> bool:
    return any(one.low is None for one in ratios)


def _meanings(columns: Sequence[str]) -> str:
    metrics = [METRICS[column.partition(" ")[0]] for column in columns]
    meanings = dict.fromkeys(f"{one.name}: {one.doc}" for one in metrics if one.of == "step")
    p99 = ["p99: 99 % of the responses took no longer"] if any(one.of == "operation" for one in metrics) else []
    return f"{'; '.join([*meanings, *p99])}."
