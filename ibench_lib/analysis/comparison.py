"""Every metric of a step for two dbms, A and B: values over repeats, the ratio B / A, and the verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import Any, Literal

import polars as pl

from ibench_lib.analysis.frames import is_least
from ibench_lib.analysis.verdicts import BETTER, DIGITS, WORSE, Ratio, ratio_of
from ibench_lib.metrics import METRICS, Metric
from ibench_lib.stats.noise import LEVEL, Difference, level_of_all
from ibench_lib.stats.ratios import difference_of

Verdict = Literal["better", "worse", "more", "less", "same", "unclear", "too few runs", "noise unknown"]
_UNITS = ("s", "ms", "us", "%", "GiB", "KB")
UNJUDGED: tuple[Verdict | None, ...] = ("noise unknown", "too few runs", None)
DIFFERENT: tuple[Verdict, ...] = ("better", "worse", "more", "less")


@dataclass(frozen=True)
class Comparison:
    """One metric of a step; of one operation, with its place, and timing if it is of responses.

    A run is a row of `Pair.values`, which has the noise of the ratio. It was judged at `level`, together with others.
    """

    metric: Metric
    operation: str | None
    position: int | None
    timing: str | None
    a_rows: list[dict[str, Any]]
    b_rows: list[dict[str, Any]]
    level: float = LEVEL
    comparisons: int = 1

    @property
    def label(self) -> str:
        """Such as `inserts/s`, `p99 of insert` or `p99 of insert, intended`; `at least` if a side is a lower bound."""
        of = f" of {self.operation}" if self.operation else ""
        least = ", at least" if is_least(self.a_rows, "value") or is_least(self.b_rows, "value") else ""
        return f"{self.metric.label}{of}{', intended' if self.timing == 'intended' else ''}{least}"

    @property
    def head(self) -> str:
        """The label with its unit, where it does not say it."""
        return f"{self.label} ({self.metric.unit})" if self.metric.unit in _UNITS else self.label

    @cached_property
    def a(self) -> list[float]:
        """A's values, one for each complete run."""
        return measured_of(self.a_rows)

    @cached_property
    def b(self) -> list[float]:
        """B's values, one for each complete run."""
        return measured_of(self.b_rows)

    @cached_property
    def ratio(self) -> Ratio | None:
        """B / A; None without a value on either side, and for A of zero."""
        return ratio_of(self.b, self.a, self.difference, self.level, self.comparisons)

    @cached_property
    def difference(self) -> Difference | None:
        """The logarithm of B / A; None where the noise is not known. Rows of `metric_values` have only their own."""
        if not self.b_rows or "log_se" not in self.b_rows[0]:
            return difference_of(self.b, self.a)
        if self.b_rows[0]["log_se"] is None:
            return None
        return Difference(*(self.b_rows[0][name] for name in ("log_ratio", "log_se", "log_df", "log_own_df")))

    @property
    def at_target(self) -> bool:
        """Whether a target rate is all that both sides could reach, and each of their runs did."""
        return all(rows and all(row.get("at_target") for row in rows) for rows in (self.a_rows, self.b_rows))

    @property
    def detectable(self) -> float | None:
        """The logarithm of a ratio that would be called a difference; None where the noise is not known."""
        return None if self.difference is None else self.difference.detectable(self.level, math.log(BETTER))

    @cached_property
    def verdict(self) -> Verdict | None:
        """What may be said of B, None when a side has no value.

        better, worse (by the metric's direction), more, less (it has none): the ratio is beyond a threshold, and chance
        does not explain it, with all that are judged together; same: the whole interval lies between the thresholds;
        unclear: neither, or values next to nothing (`is_tiny`); too few runs: a side has two, and their noise is not
        known; noise unknown: it has one.
        """
        if not self.a or not self.b:
            return None
        if len(self.a) < 2 or len(self.b) < 2:
            return "noise unknown"
        if self.difference is None:
            return "too few runs"
        if self.is_tiny:
            return "same" if max(*self.a, *self.b) == 0 else "unclear"
        significant = self.difference.p <= self.level
        if self.ratio is None:
            return self._said(True) if significant and max(self.a) == 0 < min(self.b) else "unclear"
        low, value, high = self.ratio.low, self.ratio.value, self.ratio.high
        assert low is not None and high is not None
        if significant and not WORSE <= value <= BETTER:
            return self._said(value > BETTER)
        return "same" if low >= WORSE and high <= BETTER else "unclear"

    def _said(self, above: bool) -> Verdict:
        if self.metric.better == "neither":
            return "more" if above else "less"
        return "better" if above == (self.metric.better == "higher") else "worse"

    @property
    def is_tiny(self) -> bool:
        """Whether both sides are less than the last digit that tables show: then there is no ratio to show."""
        return max(median(self.a), median(self.b)) < self.metric.resolution

    @property
    def size(self) -> float:
        """How far apart A and B are: |log ratio|, endless where one is zero; 0 where both are next to nothing."""
        if not self.a or not self.b or max(median(self.a), median(self.b)) < DIGITS * self.metric.resolution:
            return 0.0
        if self.ratio is None or self.ratio.value == 0:
            return math.inf
        return abs(math.log(self.ratio.value))


def compared(frame: pl.DataFrame, a: str, b: str) -> list[Comparison]:
    """The metrics of one setup and step (`Pair.values`), as declared in `metrics.py`, responses by operation.

    They are judged together.
    """
    comparisons: list[Comparison] = []
    groups = frame.group_by("operation", "operation_position", "timing", "metric", maintain_order=True)
    for (operation, position, timing, metric), rows in groups:
        of_a, of_b = (rows.filter(pl.col("dbms") == name).to_dicts() for name in (a, b))
        comparisons.append(
            Comparison(METRICS[str(metric)], _text(operation), _number(position), _text(timing), of_a, of_b)
        )
    judged = [one.difference.p for one in comparisons if one.difference]
    level = level_of_all(judged)
    comparisons = [replace(one, level=level, comparisons=max(len(judged), 1)) for one in comparisons]
    order = list(METRICS)

    def place(one: Comparison) -> tuple[int, str, bool, int]:
        first = -1 if one.position is None else one.position
        return first, one.operation or "", one.timing == "intended", order.index(one.metric.name)

    return sorted(comparisons, key=place)


def measured_of(rows: list[dict[str, Any]]) -> list[float]:
    """The values of the complete runs of a side, in the order of its rows."""
    return [row["value"] for row in rows if row["value"] is not None and row["step_status"] == "complete"]


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _text(value: object) -> str | None:
    return None if value is None else str(value)
