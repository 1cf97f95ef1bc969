"""Counts and latencies of one worker, second by second and operation by operation.

In the hot loop an operation costs three appends to arrays and one comparison; binning happens once a second. Every
second between the step's start and the worker's end yields a row for each operation, also one in which nothing was
answered: a stall must show as zeros, not as a gap.
"""

from __future__ import annotations

import resource
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ibench_lib.client.driver import RETRY_REASONS
from ibench_lib.client.histogram import bin_latencies

SECOND_NS = 1_000_000_000


class OperationRecorder:
    """What a worker counts under one name. `roll` is called with the time when the second has ended."""

    def __init__(self, name: str, second_end_ns: int, *, paced: bool, roll: Callable[[int], None]) -> None:
        self.name = name
        self.second_end_ns = second_end_ns
        self._paced = paced
        self._roll = roll
        self._service = array("q")
        self._intended = array("q")
        self._lag = array("q")
        self._rows = self._errors = self._unknown = 0
        self._flown_ns = 0
        self._retries = dict.fromkeys(RETRY_REASONS, 0)
        self.total_ops = self.total_rows = self.total_errors = self.total_retries = self.total_unknown = 0

    def record(self, due_ns: int, ready_ns: int, sent_ns: int, answered_ns: int, rows: int) -> None:
        """One acknowledged operation. `due_ns` and `ready_ns`, when it could have been sent, count when paced only."""
        if answered_ns >= self.second_end_ns:
            self._roll(answered_ns)
        self._service.append(answered_ns - sent_ns)
        if self._paced:
            self._intended.append(answered_ns - due_ns)
            self._lag.append(sent_ns - ready_ns)
        self._rows += rows

    def record_lag(self, lag_ns: int) -> None:
        """How long the client kept an operation that is not paced from going on: it shares its process with others."""
        self._lag.append(lag_ns)

    def record_retry(self, now_ns: int, reason: str) -> None:
        """One repeat of an operation, for one of `RETRY_REASONS`."""
        if now_ns >= self.second_end_ns:
            self._roll(now_ns)
        self._retries[reason] += 1

    def record_error(self, now_ns: int) -> None:
        """One operation that the server answered with an error."""
        if now_ns >= self.second_end_ns:
            self._roll(now_ns)
        self._errors += 1

    def record_unknown(self, now_ns: int) -> None:
        """One operation that was in flight when the connection was lost: it may or may not have happened."""
        if now_ns >= self.second_end_ns:
            self._roll(now_ns)
        self._unknown += 1

    @property
    def pending(self) -> bool:
        """Whether anything was recorded that has not been handed over."""
        return bool(self._service or self._errors or self._unknown or any(self._retries.values()))

    def hand_over(
        self, second: int, lags: StepHistogram, services: StepHistogram, flying_ns: int = 0
    ) -> dict[str, Any]:
        """The row of a second, and nothing pending any more.

        `lags` and `services` get the client lags, and the response times that these are held against.
        `flying_ns` is how long the operations that are in flight when the second ends have been so since they were
        sent, summed over them.
        """
        service = np.frombuffer(self._service, dtype=np.int64)
        bins, counts = bin_latencies(service)
        # What ended in this second, without what belongs to earlier ones, and what goes on into the next.
        in_flight_ns = int(service.sum()) + flying_ns - self._flown_ns
        self._flown_ns = flying_ns
        retries = sum(self._retries.values())
        row: dict[str, Any] = {
            "operation": self.name,
            "second": second,
            "ops": len(service),
            "rows": self._rows,
            "errors": self._errors,
            "retries": retries,
            **self._retries,
            "unknown": self._unknown,
            "service_sum_us": float(service.sum()) / 1000.0,
            "service_max_us": float(service.max()) / 1000.0 if len(service) else None,
            "service_bins": bins,
            "service_counts": counts,
            "in_flight_us": in_flight_ns / 1000.0,
            "intended_max_us": None,
            "intended_bins": None,
            "intended_counts": None,
        }
        if self._paced:
            intended = np.frombuffer(self._intended, dtype=np.int64)
            row["intended_max_us"] = float(intended.max()) / 1000.0 if len(intended) else None
            row["intended_bins"], row["intended_counts"] = bin_latencies(intended)
            del intended
        if self._lag:
            lags.add(np.frombuffer(self._lag, dtype=np.int64))
            if not self._paced:
                services.add(service)
        self.total_ops += len(service)
        self.total_rows += self._rows
        self.total_errors += self._errors
        self.total_retries += retries
        self.total_unknown += self._unknown
        del service  # an array that numpy still looks at cannot be emptied
        del self._service[:], self._intended[:], self._lag[:]
        self._rows = self._errors = self._unknown = 0
        self._retries = dict.fromkeys(RETRY_REASONS, 0)
        return row


class SecondRecorder:
    """Hands over one dict per finished second and operation, its keys those of table `ops`.

    The CPU of the process stands in the row of the first operation; the other rows have 0.

    Parameters
    ----------
    start_ns : common start of the step, CLOCK_MONOTONIC.
    paced : whether operations have a due time; unpaced ones have no intended latency.
    emit : receives each finished second.
    operations : names of what the worker counts.

    Attributes
    ----------
    in_flight : yields what is in flight now: who counts it, and when it was sent (CLOCK_MONOTONIC). It is asked once a
        second.
    """

    def __init__(
        self, start_ns: int, *, paced: bool, emit: Callable[[dict[str, Any]], None], operations: Sequence[str]
    ) -> None:
        self._start_ns = start_ns
        self._emit = emit
        self._second = 0
        self._used = (0.0, 0.0)
        self.in_flight: Callable[[], Iterable[tuple[OperationRecorder, int]]] = tuple
        self.client_lag = StepHistogram()
        self.service = StepHistogram()  # of all operations with such a lag that are not paced
        first_end_ns = start_ns + SECOND_NS
        self._operations = {
            name: OperationRecorder(name, first_end_ns, paced=paced, roll=self._roll) for name in operations
        }
        self.first = self._operations[operations[0]]

    def of(self, operation: str) -> OperationRecorder:
        """What is counted under a name."""
        return self._operations[operation]

    def begin(self) -> None:
        """The load begins: CPU used before this belongs to no second."""
        self._cpu_used()

    def finish(self, end_ns: int) -> None:
        """Hand over all seconds up to `end_ns`, the last one as far as it went."""
        if end_ns >= self.first.second_end_ns:
            self._roll(end_ns)
        # An end on the very edge of a second leaves nothing to say about the next one.
        pending = any(operation.pending for operation in self._operations.values())
        if end_ns > self._start_ns + self._second * SECOND_NS or pending:
            self._hand_over(end_ns)

    def totals(self) -> dict[str, int]:
        """Sums over all operations of what was handed over."""
        names = ("ops", "rows", "errors", "retries", "unknown")
        return {name: sum(getattr(one, f"total_{name}") for one in self._operations.values()) for name in names}

    def rows_by_operation(self) -> dict[str, int]:
        """Rows of acknowledged operations that were handed over."""
        return {name: operation.total_rows for name, operation in self._operations.items()}

    def _cpu_used(self) -> dict[str, float]:
        """CPU of this process since this was asked last."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        before, self._used = self._used, (used.ru_utime, used.ru_stime)
        return {"cpu_user_s": self._used[0] - before[0], "cpu_system_s": self._used[1] - before[1]}

    def _roll(self, now_ns: int) -> None:
        while now_ns >= self.first.second_end_ns:
            self._hand_over(self.first.second_end_ns)
            self._second += 1
            for operation in self._operations.values():
                operation.second_end_ns += SECOND_NS

    def _hand_over(self, end_ns: int) -> None:
        cpu, flying_ns = self._cpu_used(), dict.fromkeys(self._operations, 0)
        for operation, sent_ns in self.in_flight():
            flying_ns[operation.name] += max(0, end_ns - sent_ns)
        for name, operation in self._operations.items():
            self._emit({**operation.hand_over(self._second, self.client_lag, self.service, flying_ns[name]), **cpu})
            cpu = dict.fromkeys(cpu, 0.0)


class StepHistogram:
    """Times of a whole step in the same log-linear bins, so that memory does not grow with the step."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def add(self, nanoseconds: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        """Add times."""
        for number, count in zip(*bin_latencies(nanoseconds), strict=True):
            self._counts[number] = self._counts.get(number, 0) + count

    def bins_and_counts(self) -> tuple[list[int], list[int]]:
        """The histogram, bins ascending."""
        bins = sorted(self._counts)
        return bins, [self._counts[number] for number in bins]
