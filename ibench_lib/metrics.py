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

    @property
    def resolution(self) -> float:
        """The smallest step that `format` shows: 0.001 of `,.3f`."""
        return float(10.0 ** -int(self.format.rpartition(".")[2].rstrip("f")))


_ALL = (
    Metric("duration_s", "T", "s", "neither", ",.1f", "wall time of the step"),
    Metric("ips", "inserts/s", "rows/s", "higher", ",.0f", "rows inserted / T; in l.x rows indexed / T"),
    Metric("dps", "deletes/s", "rows/s", "higher", ",.0f", "rows deleted / T"),
    Metric("qps", "queries/s", "queries/s", "higher", ",.0f", "queries / T"),
    Metric("rate_p50", "rate p50", "/s", "higher", ",.0f", "rate met or beaten in 50 % of the step's full seconds"),
    Metric("rate_p99", "rate p99", "/s", "higher", ",.0f", "rate met or beaten in 99 % of the step's full seconds"),
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
    Metric("fairness_diff_s", "fairness diff", "s", "lower", ".1f", "slowest client's duration minus the fastest's"),
    Metric("fairness_pct", "fairness pct", "%", "lower", ".1f", "100 * diff / the fastest client's duration"),
    Metric("ccpupq", "client CPU/op", "us", "lower", ".1f", "client CPU microseconds per operation, all clients"),
    Metric("cpupq", "CPU/op", "us", "lower", ".1f", "CPU microseconds of the host per operation, user and system"),
    Metric("scpupq", "server CPU/op", "us", "lower", ".1f", "CPU microseconds of the server's process per operation"),
    Metric("rps", "reads/s", "reads/s", "neither", ",.0f", "storage reads a second of the data device"),
    Metric("wps", "writes/s", "writes/s", "neither", ",.0f", "storage writes a second of the data device"),
    Metric("rmbps", "MB read/s", "MB/s", "neither", ",.1f", "MB (of 1024 KB) read a second from the data device"),
    Metric("wmbps", "MB written/s", "MB/s", "neither", ",.1f", "MB (of 1024 KB) written a second to the data device"),
    Metric("rpq", "reads/op", "reads", "lower", ".3f", "storage reads per operation"),
    Metric("rkbpq", "KB read/op", "KB", "lower", ".3f", "KB read from storage per operation"),
    Metric("wpi", "writes/insert", "writes", "lower", ".3f", "storage writes per inserted row"),
    Metric("wkbpi", "KB written/insert", "KB", "lower", ".3f", "KB written to storage per inserted row"),
    Metric("csps", "context switches/s", "switches/s", "neither", ",.0f", "context switches of the host a second"),
    Metric("cpups", "CPU", "%", "neither", ".1f", "user and system CPU of the host; 100 is all of it"),
    Metric("cspq", "context switches/op", "switches", "lower", ".3f", "context switches of the host per operation"),
    Metric("rss", "server memory", "GiB", "lower", ".2f", "peak resident size of the server in the step"),
    Metric("dbgb1", "database size", "GiB", "lower", ".2f", "files of the benchmark's database at the step's end"),
    Metric("dbgb2", "datadir size", "GiB", "lower", ".2f", "the whole data directory at the step's end"),
    Metric("response_p50_ms", "p50", "ms", "lower", ",.3f", "50 % of an operation's responses took no longer"),
    Metric("response_p90_ms", "p90", "ms", "lower", ",.3f", "90 % of an operation's responses took no longer"),
    Metric("response_p99_ms", "p99", "ms", "lower", ",.3f", "99 % of an operation's responses took no longer"),
    Metric("response_p999_ms", "p99.9", "ms", "lower", ",.3f", "99.9 % of an operation's responses took no longer"),
    Metric("response_max_ms", "max", "ms", "lower", ",.3f", "an operation's worst response"),
    Metric("table_data", "rows", "GiB", "lower", ".3f", "primary keys of the tables, by the server's statistics"),
    Metric("table_index", "indexes", "GiB", "lower", ".3f", "secondary indexes, by the server's statistics"),
    Metric("system", "system tablespace", "GiB", "lower", ".3f", "the system tablespace on disk"),
    Metric("undo", "undo", "GiB", "lower", ".3f", "undo tablespaces on disk"),
    Metric("redo", "redo", "GiB", "neither", ".3f", "redo log files on disk"),
    Metric("temporary", "temporary", "GiB", "lower", ".3f", "temporary tablespaces and files on disk"),
    Metric("binary_log", "binary log", "GiB", "lower", ".3f", "binary logs on disk"),
    Metric("read_wait_ms", "read wait", "ms", "lower", ".3f", "mean time of a read, in the queue and at the device"),
    Metric("read_kb", "read size", "KB", "neither", ".1f", "mean size of a read"),
    Metric("write_wait_ms", "write wait", "ms", "lower", ".3f", "mean time of a write, in the queue and at the device"),
    Metric("write_kb", "write size", "KB", "neither", ".1f", "mean size of a write"),
    Metric("flushes_per_s", "flushes/s", "/s", "neither", ",.1f", "flush requests of the device a second"),
    Metric("flush_wait_ms", "flush wait", "ms", "lower", ".3f", "mean time of a flush request"),
    Metric("queue", "queue", "", "neither", ".2f", "mean number of requests in flight"),
    Metric("busy_pct", "busy", "%", "neither", ".1f", "share of the time with a request in flight"),
)

METRICS: dict[str, Metric] = {m.name: m for m in _ALL}
