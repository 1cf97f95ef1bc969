"""The history of releases: the builds of each flavour in their order, what was measured of each, and what changed.

Releases of one flavour with one configuration in one setup make a line, in the order of versions. In the order of
dates each release line, such as 8.0, makes one: 5.7.44 is younger than 8.0.34, and not what came before it. Changes are
looked for within lines; a chart may have several lines, relative to the oldest build of all.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import polars as pl

from ibench_lib.analysis.against import against_base
from ibench_lib.analysis.changes import FOUND as FOUND
from ibench_lib.analysis.changes import Change as Change
from ibench_lib.analysis.changes import release_changes, unfit
from ibench_lib.analysis.frames import SHORT_S, listed
from ibench_lib.analysis.releases import Release, ReleaseDate, dated, is_next, release_of
from ibench_lib.analysis.releases import line_text as line_text
from ibench_lib.analysis.releases import release_text as release_text
from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.ask.provenance import derived
from ibench_lib.base.wording import joined
from ibench_lib.errors import ParameterError
from ibench_lib.metrics import METRICS
from ibench_lib.stats.short_series import MIN_EFFECT

RATE = "rate"
"""The column of a step's main rate; the others have the names of their metrics."""
COSTS = ("cpupq", "scpupq", "cspq", "rpq", "wkbpi", "response_p99_ms", "hll")
TOLD_NOTHING = "not found in the binary"
NONE_LINKED = "none linked"

Order = Literal["version", "date"]

_COMPILER = re.compile(r"(?:(GCC): \([^)]*\)|.*?(clang) version) (\d+(?:\.\d+)*).*")
_DIGITS = 20
"""Values below so many times the last digit that tables show differ by their rounding."""

Place = tuple[str, str, str, str]
"""Line, step, column and build."""


@dataclass(frozen=True)
class Build:
    """A release in a line. `facts` is its row of the question `builds`; `build_ids` are those of all its binaries.

    `dated`: when the release appeared, None where that is not known.
    """

    name: str
    release: Release
    facts: Mapping[str, Any]
    build_ids: tuple[str, ...] = ()
    dated: ReleaseDate | None = None

    @property
    def text(self) -> str:
        """Its name, with the release where the name does not have it."""
        release = release_text(self.release)
        return self.name if release.removesuffix(".0") in self.name else f"{self.name} ({release})"


@dataclass(frozen=True)
class Line:
    """The releases of one flavour with one configuration in one setup, oldest first; the oldest is the base.

    In the order of dates: those of one `release_line`, which is empty otherwise. `unfit` says why differences between
    them may be something else.
    """

    label: str
    flavour: str
    builds: tuple[Build, ...]
    unfit: str | None
    release_line: str = ""

    @property
    def base(self) -> Build:
        """The oldest build of the line."""
        return self.builds[0]

    def build(self, name: str) -> Build:
        """The build of that name, which must be one of the line."""
        return next(build for build in self.builds if build.name == name)


@dataclass(frozen=True)
class Chart:
    """The lines that are drawn together, and all their builds in the order of the history; the oldest is the base."""

    label: str
    lines: tuple[Line, ...]
    builds: tuple[Build, ...]

    @property
    def base(self) -> Build:
        """The oldest build of the chart."""
        return self.builds[0]


@dataclass(frozen=True)
class History:
    """The lines of a post.

    Attributes
    ----------
    order : what the releases are in the order of.
    points : `release_points` of builds that have a place, with the columns `line`, `chart`, `position` (of the build in
        its line, from 0) and `column`. `value` is NULL where the build missed the target of the step in any run.
    builds : line and build of each release.
    charts : the lines by flavour, configuration and setup.
    unplaced : why builds have no place in the order, a clause for each.
    undated : names of builds that have no place in the order of dates, because their date is not known.
    changes : what `release_changes` says of every series of the post, judged together; `experiment` is the line.
    untested : line, step and column of the series that are not judged, because some values are 0.
    to_base, to_before : ratios to the oldest release, and to the release before, of what was measured in both.
    to_first : ratios of rates to the oldest release of the chart; the line of a place is the chart's label.
    """

    order: Order
    points: pl.DataFrame
    builds: pl.DataFrame
    lines: tuple[Line, ...]
    charts: tuple[Chart, ...]
    unplaced: tuple[str, ...]
    undated: tuple[str, ...]
    changes: tuple[Change, ...]
    untested: tuple[tuple[str, str, str], ...]
    to_base: Mapping[Place, Ratio]
    to_before: Mapping[Place, Ratio]
    to_first: Mapping[Place, Ratio]

    @property
    def costs(self) -> pl.DataFrame:
        """The points of costs that have a value, of steps in which there are any; the others of such a step, too."""
        of_costs = self.points.filter(pl.col("column") != RATE)
        known = of_costs.filter(pl.col("value").is_not_null()).select("line", "step").unique()
        return of_costs.join(known, on=["line", "step"], how="semi").sort("step_id", maintain_order=True)

    @property
    def differing(self) -> pl.DataFrame:
        """The points of lines in which the rate of a step differs from that of the oldest release clearly."""
        lines = [place[0] for place, ratio in self.to_base.items() if place[2] == RATE and ratio.is_clear]
        return self.points.filter(pl.col("line").is_in(lines))

    def line(self, label: str) -> Line:
        """The line of that label, which must be there."""
        return next(line for line in self.lines if line.label == label)

    def chart(self, label: str) -> Chart:
        """The chart of that label, which must be there."""
        return next(chart for chart in self.charts if chart.label == label)

    def found(self, line: str, step: str, column: str) -> list[Change]:
        """The changes of one series, in the order of releases."""
        mine = [one for one in self.changes if series_of(one) == (line, step, column) and one.verdict in FOUND]
        order = [build.name for build in self.line(line).builds]
        return sorted(mine, key=lambda one: order.index(one.after or ""))


def version_history(ask: Callable[[str], pl.DataFrame], order: str = "version") -> History:
    """The history of the releases that a selection has (`release_points`, `builds`); `ask` answers a question.

    Raises ParameterError for an `order` that is neither version nor date.
    """
    return history_of(ask("release_points"), ask("builds"), order)


_KEPT: dict[tuple[int, int, str], tuple[weakref.ref[pl.DataFrame], History]] = {}


def history_of(release_points: pl.DataFrame, builds: pl.DataFrame, order: str = "version") -> History:
    """The history in two answers. It is kept while the first of them lives: a post needs it many times."""
    if order not in get_args(Order):
        raise ParameterError(f"order {order!r:.80} is not known", hint="use version or date")
    key = (id(release_points), id(builds), order)
    kept = _KEPT.get(key)
    if kept is None or kept[0]() is not release_points:
        history = _history(release_points, builds, "date" if order == "date" else "version")
        kept = _KEPT[key] = (weakref.ref(release_points, lambda _: _KEPT.pop(key, None)), history)
    return kept[1]


def series_of(change: Change) -> tuple[str, str, str]:
    """Line, step and column of the series of a change."""
    return change.experiment, change.step, _column(change.metric, change.operation)


def head_of(column: str) -> str:
    """What a table calls a column: scpupq; p99 insert (ms)."""
    metric, _, operation = column.partition(" ")
    return f"p99 {operation} (ms)".replace("  ", " ") if metric == "response_p99_ms" else metric


def format_of(column: str) -> str:
    """How the values of a column are printed, as a format of Python."""
    return METRICS["throughput" if column == RATE else column.partition(" ")[0]].format


def columns_of_costs(points: pl.DataFrame) -> list[str]:
    """The columns of costs that have a value, in the order of COSTS."""
    known = points.filter(pl.col("value").is_not_null())["column"].unique().to_list()
    named = [column for column in known if column != RATE]
    return sorted(named, key=lambda column: (COSTS.index(column.partition(" ")[0]), column))


def steps_in(points: pl.DataFrame) -> list[str]:
    """The steps in the order in which runs take them."""
    return points.group_by("step").agg(pl.max("step_id")).sort("step_id", "step")["step"].to_list()


def regimes(line: Line, points: pl.DataFrame, change: Change) -> tuple[list[Build], list[Build]]:
    """The builds before and after a change, of those that its series has values of."""
    mine = points.filter((pl.col("line") == line.label) & in_series(change))
    known = set(mine.drop_nulls("value")["build"])
    builds = [build for build in line.builds if build.name in known]
    at = [build.name for build in builds].index(change.after or "")
    return builds[at - (change.points_before or 0) : at], builds[at : at + (change.points_after or 0)]


def in_series(change: Change) -> pl.Expr:
    """Which points are of the series of a change."""
    _, step, column = series_of(change)
    return (pl.col("step") == step) & (pl.col("column") == column)


def arrival(before: Build, after: Build) -> str:
    """Between which releases a change arrived, and whether it may be one of how they were built."""
    unlike = built_unlike(before, after)
    because = f" ({'; '.join(unlike)})" if unlike else ""
    if before.release == after.release:
        return f"in how {after.name} was built: it is the same release as {before.name}{because}"
    adjacent = is_next(before.release, after.release)
    where = f"in {after.name}" if adjacent else f"after {before.name} and by {after.name}"
    return f"{where}, or comes from how {after.name} was built{because}" if unlike else where


def built_unlike(before: Build, after: Build) -> list[str]:
    """In what two builds differ besides their release; that a compiler is not known is a difference, too."""
    unknown = [build.name for build in (before, after) if not build.facts["compiler"]]
    unlike = [f"the compiler of {joined(unknown)} is not known"] if unknown else []
    for was, now, what in (
        *([(compiler_of(before), compiler_of(after), "compiler")] if not unknown else []),
        (_linked(allocator_of, before), _linked(allocator_of, after), "allocator"),
        (_linked(_kind_of_tls, before), _linked(_kind_of_tls, after), "TLS library"),
        (before.facts["compile_os"], after.facts["compile_os"], "compiled for"),
        (before.facts["compile_machine"], after.facts["compile_machine"], "machine"),
    ):
        if was and now and was != now:
            unlike.append(f"{what}: {was}, then {now}")
    return unlike


def _linked(library: Callable[[Build], str | None], build: Build) -> str:
    """A library, or that none is linked; empty where nobody says it."""
    return library(build) or (NONE_LINKED if build.facts["stripped"] is not None else "")


def compiler_of(build: Build) -> str | None:
    """Names and versions of its compilers, without the packager's words: GCC 4.8.5."""
    parts = (build.facts["compiler"] or "").split("; ")
    short = [_COMPILER.sub(lambda found: f"{found[1] or found[2]} {found[3]}", part) for part in parts]
    return "; ".join(dict.fromkeys(short)) or None


def allocator_of(build: Build) -> str | None:
    """As the server says it, else the library that the binary links."""
    known: str | None = build.facts["malloc_library"] or build.facts["allocator"]
    return known


def tls_of(build: Build) -> str | None:
    """The TLS library of a build, as it names itself or as its file is linked; None where neither is known."""
    known: str | None = build.facts["ssl_library"] or build.facts["tls_library"]
    return known


def _kind_of_tls(build: Build) -> str | None:
    """Without its version, which hardly matters: OpenSSL of `OpenSSL 3.0.19 27 Jan 2026`."""
    return (tls_of(build) or "").partition(" ")[0] or None


def _column(metric: str, operation: str | None) -> str:
    return f"{metric} {operation}" if operation else metric if metric in COSTS else RATE


def _history(release_points: pl.DataFrame, builds: pl.DataFrame, order: Order) -> History:
    placed, unplaced = _placed(builds)
    undated = [build.name for build in placed.values() if build.dated is None] if order == "date" else []
    placed = {place: build for place, build in placed.items() if build.name not in undated}
    points = _in_lines(release_points, placed, order)
    lines = tuple(
        _line(label, points.filter(pl.col("line") == label), placed, order) for label in listed(points["line"])
    )
    charts = tuple(_chart(label, points, lines) for label in listed(points["chart"]))
    testable, untested = _testable(points)
    to_base: dict[Place, Ratio] = {}
    to_before: dict[Place, Ratio] = {}
    to_first: dict[Place, Ratio] = {}
    for line in lines:
        mine = testable.filter(pl.col("line") == line.label)
        wide, costs = _wide(mine, "line")
        names = [build.name for build in line.builds]
        for columns in ([RATE], costs):
            to_base |= against_base(wide, names[0], [name for name in columns if name in wide.columns])
        for before, after in pairwise(names):
            ratios = against_base(wide, before, [RATE] if RATE in wide.columns else [])
            to_before |= {place: one for place, one in ratios.items() if place[3] == after}
    for chart in charts:
        mine = testable.filter((pl.col("chart") == chart.label) & (pl.col("column") == RATE))
        if len(chart.lines) == 1:
            of_line = (chart.lines[0].label, RATE)
            mine_only = {place: one for place, one in to_base.items() if (place[0], place[2]) == of_line}
            to_first |= {(chart.label, *place[1:]): one for place, one in mine_only.items()}
        elif len(mine):
            to_first |= against_base(_wide(mine, "chart")[0], chart.base.name, [RATE])
    changes = release_changes(testable.with_columns(experiment=pl.col("line")), MIN_EFFECT) if len(testable) else []
    in_lines = points.select("line", "build").unique(maintain_order=True)
    return History(
        order, derived(points, release_points), derived(in_lines, builds), lines, charts, tuple(unplaced),
        tuple(undated), tuple(changes), tuple(untested), to_base, to_before, to_first,
    )  # fmt: skip


def _placed(builds: pl.DataFrame) -> tuple[dict[tuple[str, str], Build], list[str]]:
    """The builds that have a place by flavour and name, and why the others have none."""
    placed: dict[tuple[str, str], Build] = {}
    unplaced: list[str] = []
    for name in listed(builds["build"]):
        rows = builds.filter(pl.col("build") == name).to_dicts()
        versions = sorted({row["server_version"] for row in rows if row["server_version"] is not None})
        release = release_of(versions[0]) if len(versions) == 1 else None
        if not versions:
            unplaced.append(f"{name} (its version is not known)")
        elif len(versions) > 1:
            unplaced.append(f"{name} (its runs were of several versions: {', '.join(versions)})")
        elif release is None:
            unplaced.append(f"{name} (version {versions[0]})")
        else:
            known = [row for row in rows if row["server_version"] is not None]
            known.sort(key=lambda row: not row["told"])
            ids = sorted({row["build_id"] for row in known if row["build_id"]})
            flavour = known[0]["flavour"]
            placed[flavour, name] = Build(name, release, known[0], tuple(ids), dated(flavour, release))
    return placed, unplaced


def _in_lines(release_points: pl.DataFrame, placed: Mapping[tuple[str, str], Build], order: Order) -> pl.DataFrame:
    """The points of placed builds, in the order of lines, steps and releases."""
    releases = [(flavour, name, *build.release) for (flavour, name), build in placed.items()]
    known = pl.DataFrame(releases, schema=["flavour", "build", "major", "minor", "patch"], orient="row").cast(
        {"flavour": pl.String, "build": pl.String}
    )
    points = release_points.join(known, on=["flavour", "build"], how="inner")
    before = ["experiment"] if points["experiment"].n_unique() > 1 else []
    after = [
        *(["config"] if points["config"].n_unique() > 1 else []),
        "setup",
        *(["scale"] if points["scale"].n_unique() > 1 else []),
    ]
    of_release_line = pl.format("{} {}.{}", "flavour", "major", "minor")
    by_release = pl.struct("major", "minor", "patch", "build")
    operation = pl.when(pl.col("operation").is_null()).then(pl.col("metric"))
    column = operation.otherwise(pl.format("{} {}", "metric", "operation"))
    points = points.with_columns(
        chart=_label(before, pl.col("flavour"), after),
        line=_label(before, pl.col("flavour") if order == "version" else of_release_line, after),
        column=pl.when(pl.col("is_rate")).then(pl.lit(RATE)).otherwise(column),
    )
    missed = pl.col("missed").any().over("line", "step", "build")
    points = points.with_columns(
        position=by_release.rank("dense").over("line") - 1, value=pl.when(~missed).then("value"), missed=missed
    )
    in_chart = ["major", "minor"] if order == "date" else []
    return points.sort("dbms_position", maintain_order=True).sort(
        "setup", "flavour", "chart", *in_chart, "line", "step_id", "position"
    )


def _label(before: Sequence[str], what: pl.Expr, after: Sequence[str]) -> pl.Expr:
    parts = [*map(pl.col, before), what]
    parts += [pl.format("scale {}", pl.col(part)) if part == "scale" else pl.col(part) for part in after]
    return pl.concat_str(parts, separator=", ")


def _line(label: str, points: pl.DataFrame, placed: Mapping[tuple[str, str], Build], order: Order) -> Line:
    flavour = points["flavour"][0]
    names = points.sort("position")["build"].unique(maintain_order=True)
    builds = tuple(placed[flavour, name] for name in names)
    known = points.filter(pl.col("value").is_not_null())
    reason = unfit(known) if len(known) else None
    return Line(label, flavour, builds, reason, line_text(builds[0].release) if order == "date" else "")


def _chart(label: str, points: pl.DataFrame, lines: Sequence[Line]) -> Chart:
    names = set(points.filter(pl.col("chart") == label)["line"])
    mine = tuple(line for line in lines if line.label in names)
    builds = [build for line in mine for build in line.builds]
    if len(mine) > 1:  # all have a date
        builds.sort(key=lambda build: (build.dated and build.dated.day, build.release, build.name))
    return Chart(label, mine, tuple(builds))


def _testable(points: pl.DataFrame) -> tuple[pl.DataFrame, list[tuple[str, str, str]]]:
    """The points of series that can be judged, and which others are left out because some of their values are 0.

    A series whose values are no larger than their rounding is left out, too.
    """
    kept, untested = [], []
    for (line, step, column), rows in points.group_by("line", "step", "column", maintain_order=True):
        values = rows["value"].drop_nulls()
        metric = METRICS[rows["metric"][0]]
        if values.is_empty() or (column != RATE and values.max() < _DIGITS * metric.resolution):  # type: ignore[operator]
            continue
        if (values <= 0).any():
            untested.append((str(line), str(step), str(column)))
        else:
            kept.append(rows)
    return (pl.concat(kept) if kept else points.clear()), untested


def _wide(points: pl.DataFrame, by: str) -> tuple[pl.DataFrame, list[str]]:
    """A row per build, step and repeat of a line or chart (the column `by`), and which columns are costs.

    The rows are as `against_base` reads them.
    """
    mine = points.filter(pl.col("value").is_not_null())
    wide = mine.pivot(
        on="column", index=[by, "step_id", "step", "build", "position", "repeat"], values="value",
        aggregate_function="first",
    )  # fmt: skip
    wide = wide.rename({by: "setup", "build": "dbms", "position": "dbms_position"})
    complete = {"step_status": pl.lit("complete"), "duration_s": pl.lit(SHORT_S)}
    return wide.with_columns(**complete), columns_of_costs(mine)


def named(items: Iterable[Build]) -> str:
    """The first and the last of several builds in a row."""
    names: Sequence[str] = [build.text for build in items]
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
