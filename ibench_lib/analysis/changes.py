"""What changed between releases, or from night to night: series made of `series_points`, and what is found in them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ibench_lib.analysis.releases import release_of
from ibench_lib.base.wording import count
from ibench_lib.errors import ParameterError
from ibench_lib.metrics import METRICS
from ibench_lib.stats.long_series import LEAST_NIGHTS, LongSeries, Step, long_changes
from ibench_lib.stats.noise import LEVEL, Difference
from ibench_lib.stats.short_series import Boundary, q_values, short_changes, why_not

Verdict = Literal["level", "differs", "edge", "drift", "same", "unclear", "abstains"]
FOUND: tuple[Verdict, ...] = ("level", "differs", "edge")
SAME = math.log(1.05)
"""A series without a change is called the same if it would have shown a change of 5 %."""
FORMAT_VERSION = 1
SEED = 1
METHODS = {
    "releases": "largest step, permuted residuals; scatter of neighbours (level)",
    "nightly": "largest step, AR(1) bootstrap",
}
_GROUPED = "its repeats were not made in rounds (order: grouped), so a drift of the host looks like a change"
_KEY = ("flavour", "config", "setup", "step", "metric", "operation", "timing", "scale")


@dataclass(frozen=True)
class Change:
    """A change in a series, or a series without one. `before` and `after` name a release or a night.

    `ratio` is that of the levels, after / before, with the bounds of its 95 % interval; `p` is the chance of the change
    in its series, `q` the share of chance among all changes up to it. `mde` is the smallest change, as a share, that
    the series would show in 4 of 5 cases. `current`: nothing changed after it. `why` says why a series abstains.
    """

    series_id: str
    kind: str
    experiment: str
    flavour: str | None
    config: str
    setup: str
    step: str
    metric: str
    operation: str | None
    timing: str | None
    host_class: str | None
    verdict: Verdict
    before: str | None = None
    after: str | None = None
    points_before: int | None = None
    points_after: int | None = None
    level_before: float | None = None
    level_after: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    q: float | None = None
    direction: str | None = None
    current: bool = False
    mde: float | None = None
    phi: float | None = None
    design: str | None = None
    confounds: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    method: str = ""
    seed: int = SEED
    why: str | None = None


def left_out(points: pl.DataFrame) -> list[str]:
    """A line for each run of which points are not in any series, with the reason."""
    problems = points.filter(pl.col("problem").is_not_null()).select("run_id", "step", "problem").unique()
    by_run = problems.group_by("run_id", "problem").agg(pl.col("step").sort()).sort("run_id", "problem")
    lines = [f"{run}: {problem} ({', '.join(steps)})" for run, problem, steps in by_run.rows()]
    zeros = points.filter(pl.col("value") == 0).select("run_id", "metric", "step").unique()
    by_metric = zeros.group_by("run_id", "metric").agg(pl.col("step").sort()).sort("run_id", "metric")
    lines += [
        f"{run}: {metric} is 0, which has no ratio ({', '.join(steps)})" for run, metric, steps in by_metric.rows()
    ]
    return lines


def release_changes(points: pl.DataFrame, min_effect: float) -> list[Change]:
    """The changes between releases, series by series (`series_points` of one experiment).

    Raises ParameterError for a version that has no place in an order.
    """
    order = _release_order(points)
    changes: list[Change] = []
    for series, rows in _series(points, "releases"):
        changes += _of_releases(series, rows.filter(pl.col("value") > 0), order, min_effect)
    return _with_q(changes)


def nightly_changes(points: pl.DataFrame, reference: str | None, min_effect: float) -> list[Change]:
    """The changes from night to night, series by series; `reference` is the build that never changes.

    Raises ParameterError for a reference that was not run, or more than one build without it.
    """
    builds = points["build"].unique().sort().to_list()
    if reference is not None and reference not in builds:
        raise ParameterError(f"the reference {reference!r:.80} is no build of these runs: {', '.join(builds)}")
    candidates = [build for build in builds if build != reference]
    if len(candidates) != 1:
        raise ParameterError(
            f"a stream has one build that changes, and these runs have {len(candidates)}: {', '.join(candidates)}",
            hint="name the one that never changes with --reference, or give an experiment in place of --stream",
        )
    changes: list[Change] = []
    for series, rows in _series(points, "nightly"):
        changes += _of_nights(series, rows.filter(pl.col("value") > 0), candidates[0], reference, min_effect)
    return _with_q(changes)


def regressions(found: list[Change]) -> list[Change]:
    """The changes for the worse that still stand."""
    return [change for change in found if change.verdict in FOUND and change.direction == "worse" and change.current]


def as_json(found: list[Change], skipped: list[str], parameters: dict[str, Any]) -> str:
    """The answer for programs."""
    content = {
        "format_version": FORMAT_VERSION,
        "parameters": parameters,
        "left_out": skipped,
        "changes": [asdict(change) for change in found],
    }
    return json.dumps(content, indent=1, allow_nan=False)


def _series(points: pl.DataFrame, kind: str) -> Iterator[tuple[Change, pl.DataFrame]]:
    """Each series that has a value, as an answer without findings, with its rows."""
    for values, rows in points.group_by("experiment", *_KEY, maintain_order=True):
        known = rows.filter(pl.col("value").is_not_null())
        if known.is_empty():
            continue
        key = dict(zip(("experiment", *_KEY), values, strict=True))
        hosts = _hosts_of(known)
        digest = hashlib.sha256(json.dumps([kind, *map(str, values), hosts]).encode()).hexdigest()[:16]
        parts = {name: key[name] for name in ("experiment", *_KEY) if name != "scale"}
        series = Change(
            digest, kind, **parts, host_class=", ".join(hosts), verdict="abstains",
            design=_design_of(known), runs=tuple(known["run_id"].unique().sort()), method=METHODS[kind],
        )  # fmt: skip
        yield replace(series, why=_of_several_hosts(hosts) or _of_several_clients(known)), known


def unfit(points: pl.DataFrame) -> str | None:
    """Why a difference between releases may be one of hosts or of time; None if nothing speaks for that."""
    mixed = _of_several_hosts(_hosts_of(points)) or _of_several_clients(points)
    return mixed or (_GROUPED if _design_of(points) == "grouped" else None)


def _hosts_of(points: pl.DataFrame) -> list[str]:
    return sorted({host or "unknown" for host in points["host_class"]})


def _of_several_hosts(hosts: list[str]) -> str | None:
    return f"its runs were made on {count(len(hosts), 'host class', 'host classes')}" if len(hosts) > 1 else None


def _of_several_clients(points: pl.DataFrame) -> str | None:
    cores = sorted(set(points["client_core"]))
    return f"its runs were made with different clients ({'; '.join(cores)})" if len(cores) > 1 else None


def _design_of(points: pl.DataFrame) -> str | None:
    """The orders in which the cells of these points were run."""
    return ", ".join(sorted(set(points["cell_order"].drop_nulls()))) or None


def _release_order(points: pl.DataFrame) -> dict[str, tuple[Any, ...]]:
    order: dict[str, tuple[Any, ...]] = {}
    for build, version in points.select("build", "server_version").drop_nulls().unique().sort("build").rows():
        release = release_of(version)
        if release is None:
            raise ParameterError(
                f"build {build!r:.80} has version {version!r:.80}, which has no place in the order of releases",
                hint="leave that build out, or name its runs as a stream: ibench changes --stream EXPERIMENT",
            )
        order[build] = (release, build)
    return order


def _of_releases(
    series: Change, rows: pl.DataFrame, order: dict[str, tuple[Any, ...]], min_effect: float
) -> list[Change]:
    if series.why:
        return [series]
    if series.design == "grouped":
        return [replace(series, why=_GROUPED)]
    builds = sorted(set(rows["build"]) & order.keys(), key=lambda build: order[build])
    values = {(build, repeat): value for build, repeat, value in rows.select("build", "repeat", "value").rows()}
    repeats = sorted({repeat for _, repeat in values})
    whole = [repeat for repeat in repeats if all((build, repeat) in values for build in builds)]
    if reason := why_not(len(builds), len(whole)):
        return [replace(series, why=reason)]
    logs = np.log(np.array([[values[build, repeat] for repeat in whole] for build in builds]))
    judged = short_changes(logs, min_effect, SEED)
    if far := int((judged.values != logs).sum()):
        whose, verb = ("its", "counts") if far == 1 else ("their", "count")
        note = f"{count(far, 'run')} far from the others of {whose} release {verb} less"
        series = replace(series, confounds=(*series.confounds, note))
    if series.design != "shuffled" and not (series.design or "").startswith("shuffle"):
        series = replace(series, confounds=(*series.confounds, "the order within a round was always the same"))
    series = replace(series, mde=math.expm1(judged.detectable))
    return [_at(series, builds, judged.values, one) for one in judged.boundaries] or [
        _without(series, judged.detectable)
    ]


def _at(series: Change, names: list[str], logs: NDArray[np.float64], one: Boundary | Step) -> Change:
    """A change between two names."""
    before, after = logs[one.first : one.at], logs[one.at : one.end]
    low, high = one.difference.interval(LEVEL)
    ratio = math.exp(one.difference.value)
    return replace(
        series,
        verdict=one.kind if isinstance(one, Boundary) else "level",
        before=names[one.at - 1], after=names[one.at], points_before=len(before), points_after=len(after),
        level_before=math.exp(before.mean()), level_after=math.exp(after.mean()),
        ratio=ratio, low=math.exp(low), high=math.exp(high), p=one.p,
        direction=_direction(series.metric, one.difference), current=one.end == len(names),
    )  # fmt: skip


def _direction(metric: str, difference: Difference) -> str:
    better, above = METRICS[metric].better, difference.value > 0
    if better == "neither":
        return "more" if above else "less"
    return "better" if above == (better == "higher") else "worse"


def _without(series: Change, detectable: float) -> Change:
    return replace(series, verdict="same" if detectable <= SAME else "unclear")


def _of_nights(
    series: Change, rows: pl.DataFrame, candidate: str, reference: str | None, min_effect: float
) -> list[Change]:
    if series.why:
        return [series]
    logs = rows.with_columns(night=pl.col("origin_wall").dt.date(), log=pl.col("value").log())
    by_night = {
        build: dict(logs.filter(pl.col("build") == build).group_by("night").agg(pl.col("log").mean()).rows())
        for build in filter(None, (candidate, reference))
    }
    nights = sorted(by_night[candidate].keys() & (by_night[reference] if reference else by_night[candidate]).keys())
    if len(nights) < LEAST_NIGHTS:
        both = " with both builds" if reference else ""
        verb = "is" if len(nights) == 1 else "are"
        return [replace(series, why=f"there {verb} {count(len(nights), 'night')}{both}; {LEAST_NIGHTS} are needed")]
    values = np.array([by_night[candidate][night] for night in nights])
    of_reference = np.array([by_night[reference][night] for night in nights]) if reference else None
    judgement = long_changes(values, of_reference, min_effect, SEED)
    series = replace(series, mde=math.expm1(judgement.detectable), phi=judgement.phi, confounds=_gaps(nights))
    if judgement.judged == "nothing":
        return [replace(series, why=judgement.why)]
    of_ratio = ", ratio to the reference" if judgement.judged == "ratio" else ""
    series = replace(series, design=f"one night a point{of_ratio}")
    judged = values - of_reference if judgement.judged == "ratio" and of_reference is not None else values
    names = [str(night) for night in nights]
    steps = [_at(series, names, judged, step) for step in judgement.steps]
    last = _alarm(series, judgement, names[-1])
    if judgement.drift:
        return [replace(series, verdict="drift"), *last]
    return [*(steps or [_without(series, judgement.detectable)]), *last]


def _gaps(nights: list[Any]) -> tuple[str, ...]:
    longest = max((after - before).days for before, after in pairwise(nights)) - 1
    return (f"up to {count(longest, 'night')} missing in a row",) if longest > 0 else ()


def _alarm(series: Change, found: LongSeries, night: str) -> list[Change]:
    """The last night, if it is worse than the regime before it: one night confirms nothing."""
    worse = {"higher": found.low_alarm, "lower": found.high_alarm}.get(METRICS[series.metric].better, False)
    if not worse:
        return []
    why = "the last night is worse than those before; four more pairs of runs can confirm it"
    return [replace(series, verdict="unclear", after=night, direction="worse", why=why)]


def _with_q(found: list[Change]) -> list[Change]:
    """With the share of chance over all series; what is beyond LEVEL is unclear."""
    tested = [change for change in found if change.verdict != "abstains"]
    q = dict(zip(map(id, tested), q_values([1.0 if one.p is None else one.p for one in tested]), strict=True))
    judged = []
    for change in found:
        if change.p is None:
            judged.append(change)
        elif q[id(change)] > LEVEL:
            judged.append(replace(change, q=q[id(change)], verdict="unclear"))
        else:
            judged.append(replace(change, q=q[id(change)]))
    return judged
