"""Counts and latencies of one worker, second by second.

In the hot loop an operation costs three appends to arrays and one comparison; binning happens once a second. Every
second between the step's start and the worker's end yields a row, also one in which nothing was answered: a stall must
show as zeros, not as a gap.
"""

from __future__ import annotations

import resource
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np

from ibench_lib.client.histogram import bin_latencies

SECOND_NS = 1_000_000_000


class SecondRecorder:
    """Collects operations and hands over one dict per finished second, its keys those of table `ops`.

    Parameters
    ----------
    start_ns : common start of the step, CLOCK_MONOTONIC.
    paced : whether operations have a due time; unpaced ones have no intended latency.
    emit : receives each finished second.
    """

    def __init__(self, start_ns: int, *, paced: bool, emit: Callable[[dict[str, Any]], None]) -> None:
        self._start_ns = start_ns
        self._paced = paced
        self._emit = emit
        self._second = 0
        self._second_end_ns = start_ns + SECOND_NS
        self._service = array("q")
        self._intended = array("q")
        self.client_lag = LagHistogram()
        self._lag = array("q")
        self._used = (0.0, 0.0)
        self._rows = self._errors = self._retries = self._unknown = 0
        self.total_ops = self.total_rows = self.total_errors = self.total_retries = self.total_unknown = 0

    def record(self, due_ns: int, ready_ns: int, sent_ns: int, answered_ns: int, rows: int) -> None:
        """One acknowledged operation. `due_ns` and `ready_ns`, when it could have been sent, count when paced only."""
        if answered_ns >= self._second_end_ns:
            self._roll(answered_ns)
        self._service.append(answered_ns - sent_ns)
        if self._paced:
            self._intended.append(answered_ns - due_ns)
            self._lag.append(sent_ns - ready_ns)
        self._rows += rows

    def record_retry(self, now_ns: int) -> None:
        """One repeat of an operation that the server has rolled back."""
        if now_ns >= self._second_end_ns:
            self._roll(now_ns)
        self._retries += 1

    def record_error(self, now_ns: int) -> None:
        """One operation that the server answered with an error."""
        if now_ns >= self._second_end_ns:
            self._roll(now_ns)
        self._errors += 1

    def record_unknown(self, now_ns: int) -> None:
        """One operation that was in flight when the connection was lost: it may or may not have happened."""
        if now_ns >= self._second_end_ns:
            self._roll(now_ns)
        self._unknown += 1

    def finish(self, end_ns: int) -> None:
        """Hand over all seconds up to `end_ns`, the last one as far as it went."""
        if end_ns >= self._second_end_ns:
            self._roll(end_ns)
        # An end on the very edge of a second leaves nothing to say about the next one.
        if end_ns > self._start_ns + self._second * SECOND_NS or self._pending():
            self._hand_over()

    def _cpu_used(self) -> dict[str, float]:
        """CPU of this process since this was asked last."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        before, self._used = self._used, (used.ru_utime, used.ru_stime)
        return {"cpu_user_s": self._used[0] - before[0], "cpu_system_s": self._used[1] - before[1]}

    def begin(self) -> None:
        """The load begins: CPU used before this belongs to no second."""
        self._cpu_used()

    def _pending(self) -> bool:
        return bool(self._service or self._errors or self._unknown or self._retries)

    def _roll(self, now_ns: int) -> None:
        while now_ns >= self._second_end_ns:
            self._hand_over()
            self._second += 1
            self._second_end_ns += SECOND_NS

    def _hand_over(self) -> None:
        service = np.frombuffer(self._service, dtype=np.int64)
        bins, counts = bin_latencies(service)
        row: dict[str, Any] = {
            "second": self._second,
            "ops": len(service),
            "rows": self._rows,
            "errors": self._errors,
            "retries": self._retries,
            "unknown": self._unknown,
            "service_sum_us": float(service.sum()) / 1000.0,
            "service_max_us": float(service.max()) / 1000.0 if len(service) else None,
            "service_bins": bins,
            "service_counts": counts,
            "intended_max_us": None,
            "intended_bins": None,
            "intended_counts": None,
            **self._cpu_used(),
        }
        if self._paced:
            intended = np.frombuffer(self._intended, dtype=np.int64)
            row["intended_max_us"] = float(intended.max()) / 1000.0 if len(intended) else None
            row["intended_bins"], row["intended_counts"] = bin_latencies(intended)
            self.client_lag.add(np.frombuffer(self._lag, dtype=np.int64))
            del intended
        self.total_ops += len(service)
        self.total_rows += self._rows
        self.total_errors += self._errors
        self.total_retries += self._retries
        self.total_unknown += self._unknown
        del service  # an array that numpy still looks at cannot be emptied
        del self._service[:], self._intended[:], self._lag[:]
        self._rows = self._errors = self._retries = self._unknown = 0
        self._emit(row)


class LagHistogram:
    """Client lag of a whole step in the same log-linear bins, so that memory does not grow with the step."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def add(self, nanoseconds: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        """Add lags."""
        for number, count in zip(*bin_latencies(nanoseconds), strict=True):
            self._counts[number] = self._counts.get(number, 0) + count

    def bins_and_counts(self) -> tuple[list[int], list[int]]:
        """The histogram, bins ascending."""
        bins = sorted(self._counts)
        return bins, [self._counts[number] for number in bins]
