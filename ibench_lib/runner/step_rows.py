"""From what a step measured to rows of the run's tables, and the verdict whether the clients were its limit."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from ibench_lib.errors import RunFailed
from ibench_lib.runner.step import StepResult
from ibench_lib.runner.worker_state import COUNTS, WorkerState
from ibench_lib.store.writer import RunWriter
from ibench_lib.workloads.workload import Step

CLIENT_BOUND_BUSY = 0.70
CLIENT_BOUND_LAG = 0.10
CLIENT_BOUND_LEAST = 100


@dataclass(frozen=True)
class StepRecorder:
    """Hands what one step measures to the writer, in rows of the run's tables.

    `origin_ns` is the zero of the run's clock; `existing_rows` are those of all tables when the step begins.
    """

    writer: RunWriter
    origin_ns: int
    step_id: int
    step: Step
    clients: int
    existing_rows: int

    def started(self, states: list[WorkerState], start_ns: int) -> None:
        """The load begins: write rows with the status running, for readers before the step has ended."""
        start_s = self._run_clock(start_ns)
        self._append_step("running", start_s, start_s)
        for state in states:
            nothing = dict.fromkeys(COUNTS, 0)
            self._append_worker(state, start_s, start_s, {**nothing, "status": "running"})

    def second(self, state: WorkerState, row: dict[str, Any]) -> None:
        """One second of one worker."""
        self.writer.append("ops", **self._where(state), **row)

    def ended(self, result: StepResult, history_list_length: int | None) -> float:
        """The step's totals; returns T in seconds. A step that never started its load leaves only its probes."""
        for state in result.workers:
            for probe in state.probes:
                self.writer.append(
                    "probes",
                    **self._key(),
                    client=state.worker.client,
                    probe=probe["name"],
                    start_s=self._run_clock(probe["sent_ns"]),
                    seconds=probe["seconds"],
                    result=probe["result"],
                )
        if result.start_ns is None:
            return 0.0
        start_s = self._run_clock(result.start_ns)
        now_ns, end_s = time.monotonic_ns(), start_s
        for state in result.workers:
            worker_end_s = self._run_clock(_end_ns(state) or now_ns)
            end_s = max(end_s, worker_end_s)
            self._append_worker(state, start_s, worker_end_s, _totals(state))
            for connection, operation, outcome, ops in (state.totals or {}).get("outcomes", ()):
                row = {"connection": connection, "operation": operation, "outcome": outcome, "ops": ops}
                self.writer.append("outcomes", **self._where(state), **row)
        self._append_step(
            _status(result),
            start_s,
            end_s,
            history_list_length=history_list_length,
            client_bound=client_bound(result),
            client_limit_share=max((share for share, _ in client_limits(result)), default=None),
        )
        return end_s - start_s

    def _append_step(self, status: str, start_s: float, end_s: float, **found: Any) -> None:
        step = self.step
        self.writer.append(
            "steps",
            **self._key(),
            kind=step.kind,
            status=status,
            clients=self.clients,
            insert_rows_per_commit=step.rows_per_commit or None,
            target_rows_per_s=step.target_per_s,
            existing_rows=self.existing_rows,
            start_s=start_s,
            end_s=end_s,
            duration_s=end_s - start_s,
            **found,
        )

    def _append_worker(self, state: WorkerState, start_s: float, end_s: float, totals: dict[str, Any]) -> None:
        worker = {"role": state.worker.role, "connections": state.worker.connections}
        self.writer.append("workers", **self._where(state), **worker, start_s=start_s, end_s=end_s, **totals)

    def _key(self) -> dict[str, Any]:
        return {"step_id": self.step_id, "step": self.step.name}

    def _where(self, state: WorkerState) -> dict[str, Any]:
        return {**self._key(), "client": state.worker.client, "worker": state.number}

    def _run_clock(self, monotonic_ns: int) -> float:
        return (monotonic_ns - self.origin_ns) / 1e9


def rows_added(result: StepResult) -> dict[str, int]:
    """By how many rows acknowledged operations have changed each table, by what the workers report at their end."""
    added: dict[str, int] = defaultdict(int)
    for state in result.workers:
        for table, rows in ((state.totals or {}).get("rows_by_table") or {}).items():
            added[table] += rows
    return dict(added)


def client_limits(result: StepResult) -> list[tuple[float, str]]:
    """How near each client came to the limits from which on it, not the server, limits a step: the share, and why.

    A client that works 70 % of its time on one core has come to 70 % of what it could do with a server that costs
    nothing. A paced one is late by its own doing when its p99 operation is sent more than 10 % of its interval after it
    could have been; one that serves many connections, when it holds up its p99 operation for more than 10 % of the
    median response of all its operations. Fewer than a hundred operations have no p99, only a worst one. A driven
    program says its own limits (`RunningProgram.limits`).

    The verdict on results that come equally near is the reader's (`client_verdicts`), and so is whether the host was to
    blame instead (`host_taken_of`).
    """
    limits = []
    for state in result.workers:
        end_ns = _end_ns(state)
        if state.totals is None or end_ns is None or result.start_ns is None or end_ns <= result.start_ns:
            continue
        if state.spec.drives:
            limits += [(share, f"{state.name}: {why}") for share, why in state.totals.get("limits", ())]
            continue
        busy = (state.totals["cpu_user_s"] + state.totals["cpu_system_s"]) / ((end_ns - result.start_ns) / 1e9)
        limits.append((busy / CLIENT_BOUND_BUSY, f"{state.name} used {busy:.0%} of a core"))
        lag_us, tick_ns = state.totals["client_lag_p99_us"], state.spec.tick_ns
        if lag_us is None or state.totals["ops"] < CLIENT_BOUND_LEAST:
            continue
        if tick_ns is not None:
            of_us = tick_ns / 1e3 * state.spec.connections
            late = (
                f"{state.name} sent its p99 statement {lag_us:,.0f} us late; its statements are {of_us:,.0f} us apart"
            )
        else:
            of_us = state.totals["service_p50_us"] or 0.0
            late = f"{state.name} delayed its p99 operation by {lag_us:,.0f} us; the median of all took {of_us:,.0f} us"
        if of_us:
            limits.append((lag_us / (CLIENT_BOUND_LAG * of_us), late))
    return limits


def client_bound(result: StepResult) -> str | None:
    """Why the clients, not the server, limit a step by its own measures; None when they do not."""
    return "; ".join(why for share, why in client_limits(result) if share >= 1) or None


def _end_ns(state: WorkerState) -> int | None:
    """End of the worker's last operation; None when it could not say."""
    return int(state.totals["end_ns"]) if state.totals and "end_ns" in state.totals else None


def _totals(state: WorkerState) -> dict[str, Any]:
    names = ["status", *COUNTS, "cpu_user_s", "cpu_system_s", "client_lag_p99_us", "unrecorded_s", "ops_from"]
    if _end_ns(state) is not None and state.totals is not None:
        return {name: state.totals.get(name) for name in names}
    known = {**state.sums(), "status": "failed"}
    return {name: known.get(name) for name in names}


def said_of_programs(result: StepResult) -> tuple[list[str], dict[str, str]]:
    """What driven programs left to say of a step: warnings for the manifest, and reasons why columns are NULL."""
    warnings: list[str] = []
    reasons: dict[str, str] = {}
    for state in result.workers:
        totals = state.totals or {}
        warnings += [f"{state.name}: {warning}" for warning in totals.get("warnings", ())]
        reasons |= totals.get("null_reasons", {})
    return warnings, reasons


def _status(result: StepResult) -> str:
    if result.failure is None:
        return "complete"
    return "failed" if isinstance(result.failure, RunFailed) else "interrupted"
