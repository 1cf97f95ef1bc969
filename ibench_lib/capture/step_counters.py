"""What a step took of the machine: every cumulative column of the sample tables, at the step's start and at its end.

Samples lie on whole seconds of the run's clock, so between them they miss up to two seconds of a step. These readings
are made at the very moments that its rates are divided by.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

from ibench_lib.schema import TABLES

_SUFFIX = "_samples"
_NAMES = ("device", "interface")
_INSTANCES = ("pid", "incarnation")
"""Columns whose change means that counters have started again."""

PEAK = "peak_resident_bytes"
"""Of a process: its largest resident size since the step's start. Samples do not have it."""

Counters = dict[tuple[str, str, int | None, str], tuple[float, float]]
"""(source, name, instance, counter) -> (when it was read on the run's clock, value)."""


class Reading:
    """One collector's counters at a moment, made in the collector's thread.

    `at_ns` is the moment (CLOCK_MONOTONIC), at which a step `starts` or has ended. `done` is set when it was made or
    failed; `reason` says why it failed.
    """

    def __init__(self, at_ns: int, *, starts: bool) -> None:
        self.starts = starts
        self.at_ns = at_ns
        self.done = threading.Event()
        self.found: Counters = {}
        self.reason: str | None = None


def cumulative(rows: Iterable[tuple[str, dict[str, Any]]]) -> Counters:
    """The cumulative columns of rows of sample tables, (table, columns) each; NULLs are left out."""
    counters: Counters = {}
    for table, columns in rows:
        name = next((str(columns[column]) for column in _NAMES if column in columns), "")
        instance = next((columns[column] for column in _INSTANCES if column in columns), None)
        counted = [column.name for column in TABLES[table].columns if column.counts_up]
        for counter in [*counted, PEAK]:
            if columns.get(counter) is not None:
                key = (table.removesuffix(_SUFFIX), name, instance, counter)
                counters[key] = (columns["t_s"], float(columns[counter]))
    return counters


def counted(start: Counters, end: Counters) -> Iterator[dict[str, Any]]:
    """Rows of `step_counters`, without the step: the counters that are in both readings and have not gone down."""
    for key, (end_s, end_value) in end.items():
        source, name, _, counter = key
        start_s, start_value = start.get(key, (end_s, end_value))
        if start_s < end_s and start_value <= end_value:
            yield {
                "source": source,
                "name": name,
                "counter": counter,
                "start_s": start_s,
                "start_value": start_value,
                "end_s": end_s,
                "end_value": end_value,
            }
