"""What the runner knows of a client process while a step runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ibench_lib.client.process import WorkerProcess
from ibench_lib.client.spec import Spec
from ibench_lib.workloads.workload import Operation, Worker

COUNTS = ("ops", "rows", "errors", "retries", "unknown")


@dataclass
class WorkerState:
    """A client process and what it has reported so far.

    `counted` are its sums by operation, `latest` the rows of its last second by operation, `operations` those that the
    workload has. `answered` are the seconds in which it got answers, `latest_answer` the last of them (-1: none yet),
    `reported` the last second of which it has reported anything.
    """

    number: int
    worker: Worker
    spec: Spec
    process: WorkerProcess
    operations: Mapping[str, Operation]
    counted: dict[str, dict[str, int | None]] = field(default_factory=dict)
    latest: dict[str, dict[str, Any]] = field(default_factory=dict)
    probes: list[dict[str, Any]] = field(default_factory=list)
    totals: dict[str, Any] | None = None
    stage: str = "starting"
    killed: bool = False
    answered: set[int] = field(default_factory=set)
    latest_answer: int = -1
    reported: int = 0

    @property
    def name(self) -> str:
        """The name of the client in the tables."""
        return self.process.name

    def take(self, row: dict[str, Any]) -> None:
        """Count a second of one operation, a row of `ops`."""
        self.latest[row["operation"]] = row
        self.reported = max(self.reported, row["second"])
        if row["ops"] or row["errors"] or row["retries"]:
            self.answered.add(row["second"])
            self.latest_answer = max(self.latest_answer, row["second"])
        counted = self.counted.setdefault(row["operation"], dict.fromkeys(COUNTS, 0))
        for name in COUNTS:
            counted[name] = _added((counted[name], row[name]))

    def sums(self) -> dict[str, Any]:
        """Totals of a worker that could not give its own: what it reported, and what may have been in flight."""
        totals = {name: _added(counts[name] for counts in self.counted.values()) for name in COUNTS}
        unknown = totals["unknown"]
        return {**totals, "unknown": None if unknown is None else unknown + self.worker.connections}

    @property
    def done(self) -> int:
        """How much of its amount it has done, as its first operation counts."""
        operation = self.operations[self.worker.operations[0]]
        return self.counted.get(operation.name, {}).get(operation.counts) or 0


def _added(counts: Iterable[int | None]) -> int | None:
    """Their sum; None if one of them is not known."""
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)
