"""Files of BenchBase whose figures can be added up in the head."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BASE = "tpcc_2026-01-01_10-00-00"
NEW_ORDERS = (100, 110, 120, 90)
NAMES = ("NewOrder", "Payment", "OrderStatus", "Delivery", "StockLevel")
START_S = 1_767_261_600
LATENCY_US = 2_000
SECRETS = (b"db7.example", b"alice")
RAW_HEADER = (
    "Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (microseconds),"
    "Worker Id (start number),Phase Id (index in config file)"
)
_TIMES = ("Average", "Minimum", "25th Percentile", "Median", "75th Percentile", "90th Percentile", "95th Percentile")
WINDOW_HEADER = ",".join([
    "Time (seconds)", "Throughput (requests/second)",
    *(f"{name} Latency (millisecond)" for name in (*_TIMES, "99th Percentile", "Maximum")), "tp (req/s) scaled",
])  # fmt: skip


def counts_of(new_orders: Sequence[int] = NEW_ORDERS) -> dict[str, list[int]]:
    """Of each type, the requests of each second: as many payments as new orders, a tenth of the others."""
    few = [one // 10 for one in new_orders]
    return {name: list(new_orders) if name in NAMES[:2] else few for name in NAMES}


def raw(new_orders: Sequence[int] = NEW_ORDERS, *, terminals: int = 4, latency_us: int = LATENCY_US) -> str:
    """Every request, each answered in the second in which it began."""
    counts, lines = counts_of(new_orders), [RAW_HEADER]
    for second in range(len(new_orders)):
        names = [name for name in NAMES for _ in range(counts[name][second])]
        for number, name in enumerate(names):
            start = START_S + second + 0.99 * number / len(names)
            lines.append(f"{NAMES.index(name) + 1},{name},{start:.6f},{latency_us},{(len(lines) - 1) % terminals},1")
    return "\n".join(lines) + "\n"


def windows(counts: Sequence[int], every: int = 1) -> str:
    """The windows of a type, or of all together."""
    lines = [WINDOW_HEADER]
    for number in range(0, len(counts), every):
        done = sum(counts[number : number + every])
        lines.append(f"{number},{done / every:.3f}," + ",".join(["2.000"] * 9) + ",500.000")
    return "\n".join(lines) + "\n"


def summary(new_orders: Sequence[int] = NEW_ORDERS, **changed: Any) -> str:
    """A summary of all requests, as its JSON is printed."""
    requests = sum(sum(counts) for counts in counts_of(new_orders).values())
    elapsed = len(new_orders) * 10**9
    found: Mapping[str, Any] = {
        "Start timestamp (milliseconds)": START_S * 1000 - 10_000,
        "Current Timestamp (milliseconds)": START_S * 1000 + 5_000,
        "Elapsed Time (nanoseconds)": elapsed,
        "DBMS Type": "MYSQL",
        "DBMS Version": "db7.example.com 8.0.33 of alice",
        "Benchmark Type": "tpcc",
        "Final State": "EXIT",
        "Measured Requests": requests,
        "isolation": "TRANSACTION_REPEATABLE_READ",
        "scalefactor": "2",
        "terminals": "4",
        "Latency Distribution": {"Median Latency (microseconds)": LATENCY_US},
        "Throughput (requests/second)": requests / elapsed * 1e9,
        "Goodput (requests/second)": (requests - 6) / elapsed * 1e9,
    }
    return json.dumps({**found, **changed}, indent=1) + "\n"


def write_windows(folder: Path, new_orders: Sequence[int] = NEW_ORDERS, every: int = 1) -> dict[str, str]:
    """The files of the windows of each type and of all, by their names."""
    counts = counts_of(new_orders)
    files = {f"{BASE}.results.{name}.csv": windows(counts[name], every) for name in NAMES}
    files[f"{BASE}.results.csv"] = windows([sum(one) for one in zip(*counts.values(), strict=True)], every)
    for name, text in files.items():
        (folder / name).write_text(text)
    return files
