"""Every metric of a post, declared once: label, unit, direction, format, definition.

A table or a chart asks here whether higher is better; it never decides that itself.
T is the wall time of a step from the common start of all clients to the last client's end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Metric:
    """One metric. `format` is a format spec for Python's format()."""

    name: str
    label: str
    unit: str
    better: Better
    format: str
    doc: str


_ALL = (
    Metric("ips", "inserts/s", "rows/s", "higher", ",.0f", "rows inserted / T; in l.x rows indexed / T"),
    Metric("dps", "deletes/s", "rows/s", "higher", ",.0f", "rows deleted / T"),
    Metric("qps", "queries/s", "queries/s", "higher", ",.0f", "queries / T"),
    Metric("maxop", "max response", "s", "lower", ".3f", "worst response: insert in write steps, query in query steps"),
    Metric(
        "hll",
        "history list length",
        "undo logs",
        "lower",
        ",.0f",
        "InnoDB history list length (purge lag) at the end of the step",
    ),
    Metric(
        "get_min_s",
        "get_min",
        "s",
        "lower",
        ".3f",
        "seconds of the first SELECT min(transactionid) of a step, worst client",
    ),
    Metric("fairness_diff_s", "diff", "s", "lower", ".1f", "slowest client's duration minus the fastest's"),
    Metric("fairness_pct", "pct", "%", "lower", ".1f", "100 * diff / the fastest client's duration"),
    Metric("ccpupq", "client CPU/op", "us", "lower", ".1f", "client CPU microseconds per operation, all clients"),
)

METRICS: dict[str, Metric] = {m.name: m for m in _ALL}
