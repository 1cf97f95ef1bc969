"""What changed from release to release, as far as the data can tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, groupby, pairwise

import polars as pl

from ibench_lib.analysis.history import (
    FOUND,
    RATE,
    Build,
    Change,
    History,
    Line,
    arrival,
    built_unlike,
    history_of,
    line_text,
    named,
    regimes,
    release_text,
    series_of,
    steps_in,
)
from ibench_lib.base.wording import count, joined, shortened
from ibench_lib.metrics import METRICS
from ibench_lib.show.kit.statements import asks
from ibench_lib.show.kit.table_cells import factor_text
from ibench_lib.show.kit.wording import POWERED, change_text, smallest_said, smallest_within

_TWICE = 2.0
_MOST_COSTS = 2


@asks("release_points", "builds")
def release_statements(release_points: pl.DataFrame, builds: pl.DataFrame, order: str = "version") -> list[str]:
    """Which releases there are of each flavour, in what else than their release they differ, which have no place."""
    history = history_of(release_points, builds, order)
    sentences = []
    for flavour in dict.fromkeys(line.flavour for line in history.lines):
        lines = [line for line in history.lines if line.flavour == flavour]
        known = {build.name: build for line in lines for build in line.builds}
        in_order = sorted(known.values(), key=lambda build: (build.release, build.name))
        # In the order of dates no release line goes on with another one.
        neighbours = [in_order]
        if order == "date":
            neighbours = [list(of_line) for _, of_line in groupby(in_order, lambda build: line_text(build.release))]
            in_order.sort(key=lambda build: (build.dated and build.dated.day, build.release, build.name))
        releases = count(len({build.release for build in in_order}), "release")
        builds_of = "" if len(in_order) == len({build.release for build in in_order}) else f"{len(in_order)} builds of "
        sentences.append(f"{flavour}: {builds_of}{releases}, {named(in_order)}.")
        sentences += _same_release(in_order)
        sentences += [
            f"The runs of {build.name} used {len(build.build_ids)} binaries (build ids {joined(build.build_ids)}), "
            "which may have been built differently."
            for build in in_order
            if len(build.build_ids) > 1
        ]
        sentences += _unlike(neighbours)
    if len({line.flavour for line in history.lines}) > 1:
        sentences.append("Releases of different flavours are not compared with each other.")
    if history.undated:
        names = joined(history.undated)
        several = len(history.undated) > 1
        dates, them = ("release dates", "them") if several else ("release date", "it")
        sentences.append(
            f"The {dates} of {names} {'are' if several else 'is'} not known, so this history, which is ordered by "
            f"date, does not include {them}."
        )
    if history.unplaced:
        sentences.append(
            f"Left out, because they have no place in the order of releases: {'; '.join(history.unplaced)}."
        )
    return sentences


@asks("release_points", "builds")
def release_rate_statements(release_points: pl.DataFrame, builds: pl.DataFrame, order: str = "version") -> list[str]:
    """What changed in rates, and which costs with them; where no change was found, or nothing can be said."""
    history = history_of(release_points, builds, order)
    sentences = []
    for line in history.lines:
        mine = [one for one in history.changes if one.experiment == line.label and series_of(one)[2] == RATE]
        steps = steps_in(history.points.filter(pl.col("line") == line.label))
        for step in steps:
            sentences += [_sentence(history, line, step, one) for one in history.found(line.label, step, RATE)]
        sentences += _without_change(line, steps, mine)
        sentences += [_doubt(history, line, one) for one in mine if doubtful(one)]
        sentences += _cannot_say(line, mine)
    return sentences


@asks("release_points", "builds")
def release_cost_statements(release_points: pl.DataFrame, builds: pl.DataFrame, order: str = "version") -> list[str]:
    """What changed in the costs of operations: the largest changes of each step."""
    history = history_of(release_points, builds, order)
    sentences = []
    for line in history.lines:
        mine = [one for one in history.changes if one.experiment == line.label and series_of(one)[2] != RATE]
        for step in steps_in(history.points.filter(pl.col("line") == line.label)):
            found = [one for one in mine if one.step == step and one.verdict in FOUND]
            found.sort(key=lambda one: -abs(math.log(one.ratio or 1)))
            items = [_cost(history, line, one) for one in found]
            sentences += [f"{line.label}, {step}: {shortened(items)}."] if items else []
        quiet = [one for one in mine if one.verdict not in (*FOUND, "abstains") and one.mde is not None]
        if quiet and not any(one.verdict in FOUND for one in mine):
            number = count(len(quiet), "series", "series")
            chance = sum(map(doubtful, quiet))
            by_chance = f"; in {chance} of them there is a step that may be due to chance" if chance else ""
            sentences.append(
                f"{line.label}: no change found in the costs of operations ({number}){by_chance}"
                f"{smallest_within([math.log1p(one.mde or 0.0) for one in quiet])}."
            )
        sentences += _cannot_say(line, mine)
    if history.untested:
        items = [f"{column} in {line}, {step}" for line, step, column in history.untested]
        sentences.append(f"Not judged, because some values are 0: {shortened(items)}.")
    return sentences


@asks("release_points", "builds")
def release_gap_statements(release_points: pl.DataFrame, builds: pl.DataFrame, order: str = "version") -> list[str]:
    """What is in no series: releases that missed a target, runs and steps that say nothing of the server."""
    history = history_of(release_points, builds, order)
    rates = history.points.filter(pl.col("column") == RATE)
    sentences = []
    for line in history.lines:
        of_line = rates.filter(pl.col("line") == line.label)
        for step in steps_in(of_line):
            rows = of_line.filter(pl.col("step") == step)
            sentences += _missed(line, step, rows)
            if rows.filter(pl.col("build") == line.base.name)["value"].is_null().all():
                sentences.append(
                    f"{line.label}, {step}: {line.base.text} has no value in this step, so there are no ratios and the "
                    "chart has no line for the step."
                )
        others = of_line.filter(pl.col("problem").is_not_null() & ~pl.col("missed"))
        for problem in others["problem"].unique().sort():
            rows = others.filter(pl.col("problem") == problem)
            items = [
                f"{name} in {step} ({count(number, 'run')})"
                for name, step, number in rows.group_by("build", "step", maintain_order=True).len().rows()
            ]
            sentences.append(f"{line.label}: left out, because {problem}: {shortened(items)}.")
    return sentences or (["No release is left out of any step."] if history.lines else [])


def _same_release(builds: Sequence[Build]) -> list[str]:
    by_release: dict[str, list[str]] = {}
    for build in builds:
        by_release.setdefault(release_text(build.release), []).append(build.name)
    return [
        f"{joined(names)} are the same release, {release}: what differs between them is how they were built."
        for release, names in by_release.items()
        if len(names) > 1
    ]


def _unlike(neighbours: Sequence[Sequence[Build]]) -> list[str]:
    """How neighbours were built, where not alike."""
    items = []
    for before, after in chain.from_iterable(map(pairwise, neighbours)):
        unlike = built_unlike(before, after)
        if unlike:
            items.append(f"{after.name} and {before.name} ({'; '.join(unlike)})")
    if not items:
        return []
    return [f"A change between these builds may come from how they were built: {shortened(items, ', ')}."]


def _sentence(history: History, line: Line, step: str, change: Change) -> str:
    before, after = regimes(line, history.points, change)
    amount, link = _amount(change, _rate_label(history, line, step))
    where = f"{line.label}, {step}"
    costs = _costs_with(history, line, change)
    if change.verdict == "level":
        return f"{where}: a lasting change arrived {arrival(before[-1], after[0])}: {amount}{costs}."
    verb = "has" if len(after) == 1 else "have"
    alone = " With one release on a side, nobody can tell whether that lasts." if change.verdict == "edge" else ""
    return f"{where}: {named(after)} {verb} {amount} {link} {named(before)}{costs}.{alone}"


def doubtful(change: Change) -> bool:
    """A boundary in its own series that chance may have made in one of so many series."""
    return change.verdict == "unclear" and change.p is not None and change.q is not None


def _doubt(history: History, line: Line, change: Change) -> str:
    before, after = regimes(line, history.points, change)
    amount, link = _amount(change, _rate_label(history, line, change.step))
    verb = "has" if len(after) == 1 else "have"
    return (
        f"{line.label}, {change.step}: {named(after)} {verb} {amount} {link} {named(before)}, but this is not counted "
        f"as a change: by itself, chance makes such a step in {_chance(change.p or 0.0)} of series, and if it counted, "
        f"{_chance(change.q or 0.0)} of the reported changes would be due to chance."
    )


def _chance(share: float) -> str:
    return f"{100 * share:.{1 if share < 0.0995 else 0}f} %"


def _costs_with(history: History, line: Line, change: Change) -> str:
    """The costs of an operation that changed at the same release, and the other way round than the rate."""
    costs = [
        one for one in history.changes
        if (one.experiment, one.step, one.after) == (line.label, change.step, change.after) and one.verdict in FOUND
        and series_of(one)[2] != RATE and one.operation is None and METRICS[one.metric].better == "lower"
        and (one.ratio or 1.0) != 1.0 and ((one.ratio or 1.0) < 1) == ((change.ratio or 1.0) > 1)
    ]  # fmt: skip
    costs.sort(key=lambda one: -abs(math.log(one.ratio or 1.0)))
    items = [f"{METRICS[one.metric].label} {factor_text(one.ratio or 1.0)}x" for one in costs[:_MOST_COSTS]]
    return f" (with {joined(items)})" if items else ""


def _amount(change: Change, unit: str) -> tuple[str, str]:
    """A change of a rate with its interval, and the word between it and what it is relative to."""
    ratio, low, high = change.ratio or 1.0, change.low or 1.0, change.high or 1.0
    if not 1 / _TWICE < ratio < _TWICE:
        return f"{factor_text(ratio)}x ({factor_text(low)} to {factor_text(high)}) the {unit}", "of"
    return f"{_percent(ratio, low, high)} {'more' if ratio > 1 else 'fewer'} {unit}", "than"


def _percent(ratio: float, low: float, high: float) -> str:
    """8.1 % (6.2 to 10): how far a ratio is from 1, with its interval."""
    ends = (low - 1, high - 1) if ratio > 1 else (1 - high, 1 - low)
    shown = [f"{100 * value:.{0 if abs(value) >= 0.1 else 1}f}" for value in (abs(ratio - 1), *ends)]
    return f"{shown[0]} % ({shown[1]} to {shown[2]})"


def _cost(history: History, line: Line, change: Change) -> str:
    before, after = regimes(line, history.points, change)
    metric = METRICS[change.metric]
    what = f"{metric.name} ({metric.label})" if change.operation is None else f"{metric.label} of {change.operation}"
    ratio, low, high = change.ratio or 1.0, change.low or 1.0, change.high or 1.0
    if 1 / _TWICE < ratio < _TWICE:
        than = f"{_percent(ratio, low, high)} {'higher' if ratio > 1 else 'lower'} in {named(after)} than"
    else:
        than = f"{factor_text(ratio)}x ({factor_text(low)} to {factor_text(high)}) as high in {named(after)} as"
    return f"{what} is {than} in {named(before)}"


def _without_change(line: Line, steps: Sequence[str], changes: Sequence[Change]) -> list[str]:
    """The steps whose rates did not change: those in which a small change would have been found, and the others."""
    told = {one.step for one in changes if one.verdict in FOUND or doubtful(one)}
    limits: dict[str, dict[str, float]] = {"same": {}, "unclear": {}}
    for one in changes:
        if one.step not in told and one.mde is not None:
            limits["same" if one.verdict == "same" else "unclear"][one.step] = one.mde
    sentences = []
    for kind, of_step in limits.items():
        changes_in = {step: change_text(math.log1p(of_step[step])) for step in steps if step in of_step}
        if changes_in and kind == "same":
            items = [f"{change} or more in {step}" for step, change in changes_in.items()]
            sentences.append(f"{line.label}: no change of {joined(items)} ({POWERED}).")
        elif changes_in:
            sentences.append(f"{line.label}, {joined(list(changes_in))}: no change found{smallest_said(changes_in)}.")
    return sentences


def _cannot_say(line: Line, changes: Sequence[Change]) -> list[str]:
    """One sentence for each reason for which nothing can be said."""
    reasons: dict[str, list[str]] = {}
    for one in changes:
        if one.verdict == "abstains" and one.step not in reasons.setdefault(one.why or "", []):
            reasons[one.why or ""].append(one.step)
    kind = "rates" if changes and series_of(changes[0])[2] == RATE else "costs"
    return [
        f"{line.label}: the {kind} of {joined(steps)} were not searched for changes: {why}."
        for why, steps in reasons.items()
    ]


def _missed(line: Line, step: str, rows: pl.DataFrame) -> list[str]:
    """Who missed the target of a step: such a release did other work than the others."""
    missed = rows.filter(pl.col("missed"))
    items = []
    for name in missed["build"].unique(maintain_order=True):
        of_build = rows.filter(pl.col("build") == name)
        runs = of_build.filter(pl.col("problem") == "the step missed its target rate").height
        items.append(f"{name} (in {runs} of {count(of_build.height, 'run')})")
    if not items:
        return []
    return [f"{line.label}, {step}: left out, because the step missed its target rate: {joined(items)}."]


def _rate_label(history: History, line: Line, step: str) -> str:
    mine = (pl.col("line") == line.label) & (pl.col("step") == step) & (pl.col("column") == RATE)
    labels = history.points.filter(mine)["rate_label"].drop_nulls()
    return str(labels[0]) if len(labels) else METRICS["throughput"].label
