"""Runs one step with the real client processes against whatever answers, with the roles of `roles.py`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from ibench_lib.client.histogram import quantile_us
from ibench_lib.runner.step import StepResult, run_step
from ibench_lib.runner.step_rows import client_bound
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.workloads.insert_benchmark.options import Options
from ibench_lib.workloads.insert_benchmark.steps import Step
from ibench_lib.workloads.insert_benchmark.workers import OPERATIONS, Worker, spec

CANNOT_CONNECT_S = 5.0


def step(
    name: str,
    *,
    seconds: float | None = None,
    statements: int | None = None,
    rate: float | None = None,
    query: bool = False,
) -> Step:
    """A step of single-row statements; paced when it has a rate."""
    return Step(
        name=name,
        form=name,
        kind="query" if query else "write",
        rows_per_commit=1,
        amount=statements,
        seconds=seconds,
        target_per_s=rate,
        query="range" if query else None,
    )


def plain(burn_ms: float = 0.0) -> dict[str, Any]:
    return {"kind": "plain", "burn_ms": burn_ms}


def virtual(service_ms: float, stall_s: list[float] | None = None, *, spread: bool = False) -> dict[str, Any]:
    return {"kind": "virtual", "service_ms": service_ms, "stall_s": stall_s, "spread": spread}


def zero_cost(busy: float = 1.0) -> dict[str, Any]:
    return {"kind": "zero_cost", "busy": busy}


def measure(
    address: dict[str, Any],
    what: Step,
    *roles: dict[str, Any],
    timeout_s: float = 30.0,
    on_start: Callable[[int], None] | None = None,
) -> Observed:
    """One step, one client for each of `roles`. `on_start` is called once with the common start, CLOCK_MONOTONIC."""
    told: list[int] = []

    def progress(_states: list[WorkerState], start_ns: int | None) -> None:
        if start_ns is not None and not told and on_start is not None:
            told.append(start_ns)
            on_start(start_ns)

    return run(address, what, workers(what, *roles), "tests.measurement.roles", timeout_s, progress)


def run(
    address: dict[str, Any],
    what: Step,
    clients: list[Worker],
    module: str,
    timeout_s: float,
    on_progress: Callable[[list[WorkerState], int | None], None] = lambda _states, _start_ns: None,
) -> Observed:
    """One step with the roles of any module."""
    wanted = {"benchmark": "insert_benchmark", "clients": len(clients), "steps": ["l.i0"]}
    options = Options.model_validate({**wanted, "statement_timeout_s": timeout_s})
    seconds: list[list[dict[str, Any]]] = [[] for _ in clients]
    result = run_step(
        workers=[(worker, replace(spec(options, what, worker, 0), module=module)) for worker in clients],
        operations={operation.name: operation for operation in OPERATIONS},
        driver="ibench_lib.client.mysql.connection",
        address=address,
        database="t",
        server_alive=lambda: True,
        on_start=lambda _states, _start_ns: None,
        on_second=lambda state, row: seconds[state.number].append(row),
        on_progress=on_progress,
    )
    return Observed(result.start_ns, result.workers, result.failure, seconds=seconds)


def workers(what: Step, *roles: dict[str, Any]) -> list[Worker]:
    """One client for each role."""
    role, operation = ("querier", "range_query") if what.query else ("inserter", "insert")
    return [
        Worker(client=number, role=role, operations=(operation,), table=json.dumps(options))
        for number, options in enumerate(roles, start=1)
    ]


@dataclass(frozen=True, kw_only=True)
class Observed(StepResult):
    """What a step measured, with the rows of `ops` of each worker."""

    seconds: list[list[dict[str, Any]]]


@dataclass(frozen=True)
class Measured:
    """What a step left, as plain data: the rows of `ops` and the totals of each client, and the verdict."""

    start_ns: int
    seconds: list[list[dict[str, Any]]]
    totals: list[dict[str, Any]]
    client_bound: str | None
    failure: str | None
    machine_late_ms: list[float] | None = None  # p99 and p99.9 of how late a sleeping thread woke meanwhile

    @classmethod
    def of(cls, result: Observed) -> Measured:
        assert result.start_ns is not None, result.failure
        return cls(
            result.start_ns,
            result.seconds,
            [state.totals or {} for state in result.workers],
            client_bound(result),
            None if result.failure is None else str(result.failure),
        )

    def of_seconds(self, seconds: range) -> Measured:
        """The same, of these seconds only."""
        return replace(self, seconds=[[row for row in rows if row["second"] in seconds] for rows in self.seconds])

    def as_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Measured:
        return cls(**json.loads(text))

    def per_second(self, column: str = "ops", worker: int = 0) -> list[Any]:
        """One column of `ops`, second by second; every second of the step has its row."""
        rows = self.seconds[worker]
        assert [row["second"] for row in rows] == list(range(len(rows)))
        return [row[column] for row in rows]

    def quantile_ms(self, q: float, timing: str = "service") -> float:
        """Of all clients and seconds together."""
        return quantile_us(*self._bins(timing), q) / 1e3

    def max_ms(self, timing: str = "service") -> float:
        return max(row[f"{timing}_max_us"] or 0.0 for rows in self.seconds for row in rows) / 1e3

    def over(self, limit_ms: float, timing: str = "service") -> int:
        """How many took longer, by the bins' lower edges."""
        return sum(count for number, count in zip(*self._bins(timing), strict=True) if _edge_ms(number) >= limit_ms)

    def _bins(self, timing: str) -> tuple[list[int], list[int]]:
        merged: Counter[int] = Counter()
        for rows in self.seconds:
            for row in rows:
                merged.update(dict(zip(row[f"{timing}_bins"], row[f"{timing}_counts"], strict=True)))
        bins = sorted(merged)
        return bins, [merged[number] for number in bins]


def _edge_ms(number: int) -> float:
    # Written out from the definition in docs/schema.md, not taken from the library that is under test.
    octave, place = divmod(number, 64)
    return 2.0**octave * (1 + place / 64) / 1e3
