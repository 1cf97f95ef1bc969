"""Every metric that all workloads have, declared once: label, unit, direction, format, definition, and its SQL.

A table or a chart asks here whether higher is better; it never decides that itself. `METRICS` also has those of each
workload's `results/metrics.py`. `ibench_lib.store.reader` makes the answer of `metric_values` from these declarations.
T is the wall time of a step from the common start of all clients to the last client's end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from ibench_lib import plugins
from ibench_lib.paths import workload_folders, workload_modules

Better = Literal["higher", "lower", "neither"]
Group = Literal["time", "rate", "evenness", "lag", "fairness", "cost", "response", "size", "device"]
"""What a metric is about, in the order in which tables have them."""

SLA_SHARE = 0.95
"""A target rate is missed under this share of it."""


@dataclass(frozen=True)
class Metric:
    """One metric. `format` is a format spec for Python's format().

    `of` says what has a value: a step, an operation of a step, or `own`: the workload's macro <workload>_metrics gives
    it. `value` is SQL over `w`, a row of the CTE `step_row` or `operation_row` of `metric_values`; empty: the column of
    the metric's name, None: no value there. `applies` is the condition in which a step has the metric. A percentile
    needs `least_responses`, or it would be the largest response once more. A metric that is a rate names its `families`
    of operations: it is that of the first one that a step has. `publishable`: a run without seconds may have it, as a
    rate may.
    """

    name: str
    label: str
    unit: str
    better: Better
    format: str
    doc: str
    group: Group
    value: str | None = ""
    applies: str = "true"
    of: Literal["step", "operation", "own"] = "step"
    least_responses: int = 1
    families: tuple[str, ...] = ()
    publishable: bool = False

    @property
    def resolution(self) -> float:
        """The smallest step that `format` shows: 0.001 of `,.3f`."""
        return float(10.0 ** -int(self.format.rpartition(".")[2].rstrip("f")))

    @property
    def is_rate_of_step(self) -> bool:
        """Whether it is a rate that the question `step_throughput` has, so that nothing else needs to be computed."""
        return self.of == "step" and self.group == "rate"


_EACH_SECOND = "w.of_existing_rows IS DISTINCT FROM true"
_WRITES_ROWS = "w.counts = 'rows' OR w.of_existing_rows OR w.row_rate IS NOT NULL"

COMMON = (
    Metric("duration_s", "T", "s", "neither", ",.1f", "wall time of the step", "time", value=None),
    Metric(
        "throughput", "throughput", "/s", "higher", ",.0f",
        "operations of the step's main family / T", "rate", applies="NOT w.has_rates", publishable=True,
    ),
    Metric(
        "rate_p50", "rate p50", "/s", "higher", ",.0f",
        "rate met or beaten in 50 % of the step's full seconds", "evenness", applies=_EACH_SECOND,
    ),
    Metric(
        "rate_p99", "rate p99", "/s", "higher", ",.0f",
        "rate met or beaten in 99 % of the step's full seconds", "evenness", applies=_EACH_SECOND,
    ),
    Metric(
        "maxop", "max response", "s", "lower", ".3f",
        "worst response of the step's main operation", "evenness", "w.maxop_s",
    ),
    Metric(
        "hll", "history list length", "undo logs", "lower", ",.0f",
        "InnoDB history list length (purge lag) at the end of the step",
        "lag", "w.history_list_length", publishable=True,
    ),
    Metric(
        "fairness_diff_s", "fairness diff", "s", "lower", ".1f",
        "slowest client's duration minus the fastest's", "fairness", "w.diff_s", "w.equal_work", publishable=True,
    ),
    Metric(
        "fairness_pct", "fairness pct", "%", "lower", ".1f",
        "100 * diff / the fastest client's duration", "fairness", "w.pct", "w.equal_work", publishable=True,
    ),
    Metric(
        "ccpupq", "client CPU/op", "us", "lower", ".1f",
        "client CPU microseconds per operation, all clients", "cost", "w.ccpupq_us",
    ),
    Metric(
        "cpupq", "CPU/op", "us", "lower", ".1f",
        "CPU microseconds of the host per operation, user and system", "cost",
    ),
    Metric(
        "scpupq", "server CPU/op", "us", "lower", ".1f",
        "CPU microseconds of the server's process per operation", "cost",
    ),
    Metric(
        "ipq", "instructions/op", "", "lower", ",.0f",
        "instructions of the server's process per operation, where the processor counts them", "cost",
    ),
    Metric(
        "cpi", "cycles/instruction", "", "lower", ".3f",
        "cycles that an instruction of the server's process took, where the processor counts them", "cost",
    ),
    Metric("rps", "reads/s", "reads/s", "neither", ",.0f", "storage reads per second of the data device", "cost"),
    Metric("wps", "writes/s", "writes/s", "neither", ",.0f", "storage writes per second of the data device", "cost"),
    Metric(
        "rmbps", "MB read/s", "MB/s", "neither", ",.1f",
        "MB (of 1024 KB) read per second from the data device", "cost",
    ),
    Metric(
        "wmbps", "MB written/s", "MB/s", "neither", ",.1f",
        "MB (of 1024 KB) written per second to the data device", "cost",
    ),
    Metric("rpq", "reads/op", "reads", "lower", ".3f", "storage reads per operation", "cost"),
    Metric("rkbpq", "KB read/op", "KB", "lower", ".3f", "KB read from storage per operation", "cost"),
    Metric(
        "wpi", "writes/row", "writes", "lower", ".3f",
        "storage writes per row that clients wrote", "cost", applies=_WRITES_ROWS,
    ),
    Metric(
        "wkbpi", "KB written/row", "KB", "lower", ".3f",
        "KB written to storage per row that clients wrote", "cost", applies=_WRITES_ROWS,
    ),
    Metric(
        "csps", "context switches/s", "switches/s", "neither", ",.0f",
        "context switches of the host per second", "cost", publishable=True,
    ),
    Metric(
        "cpups", "CPU", "%", "neither", ".1f",
        "user and system CPU of the host; 100 is all of it", "cost", publishable=True,
    ),
    Metric(
        "cspq", "context switches/op", "switches", "lower", ".3f",
        "context switches of the host per operation", "cost",
    ),
    Metric(
        "other_cpu", "other CPU", "%", "lower", ".1f",
        "share of the host's CPU time that neither server nor clients used; cpupq, cspq, cpups and csps include it",
        "cost",
    ),
    Metric(
        "rss", "server memory", "GiB", "lower", ".2f",
        "peak resident size of the server in the step, from the kernel's high-water mark (VmHWM) or from the samples",
        "cost",
    ),
    Metric(
        "dbgb1", "database size", "GiB", "lower", ".2f",
        "files of the benchmark's database at the step's end", "cost",
    ),
    Metric("dbgb2", "datadir size", "GiB", "lower", ".2f", "the whole data directory at the step's end", "cost"),
    Metric(
        "response_p50_ms", "p50", "ms", "lower", ",.3f",
        "50 % of an operation's responses took no longer",
        "response", "1e3 * w.p50_s", of="operation", least_responses=2,
    ),
    Metric(
        "response_p90_ms", "p90", "ms", "lower", ",.3f",
        "90 % of an operation's responses took no longer",
        "response", "1e3 * w.p90_s", of="operation", least_responses=10,
    ),
    Metric(
        "response_p99_ms", "p99", "ms", "lower", ",.3f",
        "99 % of an operation's responses took no longer",
        "response", "1e3 * w.p99_s", of="operation", least_responses=100,
    ),
    Metric(
        "response_p999_ms", "p99.9", "ms", "lower", ",.3f",
        "99.9 % of an operation's responses took no longer",
        "response", "1e3 * w.p999_s", of="operation", least_responses=1000,
    ),
    Metric(
        "response_max_ms", "max", "ms", "lower", ",.3f",
        "an operation's worst response", "response", "1e3 * w.max_s", of="operation",
    ),
    Metric(
        "table_data", "rows", "GiB", "lower", ".3f",
        "primary keys of the tables, from the server's statistics; not yet known where these lag", "size",
    ),
    Metric(
        "table_index", "indexes", "GiB", "lower", ".3f",
        "secondary indexes, from the server's statistics; not yet known where these lag", "size",
    ),
    Metric("system", "system tablespace", "GiB", "lower", ".3f", "the system tablespace on disk", "size"),
    Metric("undo", "undo", "GiB", "lower", ".3f", "undo tablespaces on disk", "size"),
    Metric("redo", "redo", "GiB", "neither", ".3f", "redo log files on disk", "size"),
    Metric("temporary", "temporary", "GiB", "lower", ".3f", "temporary tablespaces and files on disk", "size"),
    Metric("binary_log", "binary log", "GiB", "lower", ".3f", "binary logs on disk", "size"),
    Metric(
        "read_wait_ms", "read wait", "ms", "lower", ".3f",
        "mean time of a read, in the queue and at the device", "device",
    ),
    Metric("read_kb", "read size", "KB", "neither", ".1f", "mean size of a read", "device"),
    Metric(
        "write_wait_ms", "write wait", "ms", "lower", ".3f",
        "mean time of a write, in the queue and at the device", "device",
    ),
    Metric("write_kb", "write size", "KB", "neither", ".1f", "mean size of a write", "device"),
    Metric("flushes_per_s", "flushes/s", "/s", "neither", ",.1f", "flush requests of the device per second", "device"),
    Metric("flush_wait_ms", "flush wait", "ms", "lower", ".3f", "mean time of a flush request", "device"),
    Metric("queue", "queue", "", "neither", ".2f", "mean number of requests in flight", "device"),
    Metric("busy_pct", "busy", "%", "neither", ".1f", "share of the time with a request in flight", "device"),
)  # fmt: skip


@cache
def of_workloads() -> dict[str, tuple[Metric, ...]]:
    """The metrics that only one workload has, by the workload.

    They are looked for at the first use, since they are made of this module's `Metric`.
    """
    return {
        name: plugins.load(f"{workload_modules()[name]}.results.metrics").METRICS
        for name in workload_folders("results/metrics.py")
    }


@cache
def step_words(step: str, kind: str | None) -> str:
    """What a step of a kind is in words, such as range queries for qr100, from the workloads' `results/steps.py`.

    Empty if its own name says it, or if its kind is not known.
    """
    for words in _words_of_steps():
        for pattern, text in words.get(kind or "", {}).items():
            if found := re.fullmatch(pattern, step):
                return found.expand(text)
    return ""


@cache
def _words_of_steps() -> tuple[dict[str, dict[str, str]], ...]:
    """By kind of step and pattern of its name, of each workload that has some."""
    names = workload_folders("results/steps.py")
    return tuple(plugins.load(f"{workload_modules()[name]}.results.steps").WORDS for name in names)


@cache
def known() -> dict[str, Metric]:
    """Every metric by its name, in the order of their groups."""
    metrics = [*COMMON, *(metric for of_one in of_workloads().values() for metric in of_one)]
    order = get_args(Group)
    return {metric.name: metric for metric in sorted(metrics, key=lambda metric: order.index(metric.group))}


def rates() -> dict[str, list[Metric]]:
    """The metrics that are a rate by a name of the workload's own, by the workload."""
    of_families = {name: [metric for metric in metrics if metric.families] for name, metrics in of_workloads().items()}
    return {name: metrics for name, metrics in of_families.items() if metrics}


def publishable() -> tuple[str, ...]:
    """Names of the metrics that a lake can hold of a run without its seconds."""
    return tuple(name for name, metric in known().items() if metric.publishable or metric.families)


class _Known(Mapping[str, Metric]):
    def __getitem__(self, name: str) -> Metric:
        return known()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(known())

    def __len__(self) -> int:
        return len(known())


METRICS: Mapping[str, Metric] = _Known()
"""`known()`, as a name."""
