"""The Insert Benchmark's steps: what each client does, when it ends, and how much work that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ibench_lib.errors import ExperimentError
from ibench_lib.workloads import workload
from ibench_lib.workloads.insert_benchmark.clock import clock_seconds
from ibench_lib.workloads.insert_benchmark.options import QUERY_STEP, Options, Setup, StepSpec, step_name, step_specs
from ibench_lib.workloads.workload import StepKind, Work

KINDS = (
    StepKind("load", main="insert", equal_work=True),
    StepKind("index", main="index", of_existing_rows=True),
    StepKind("write", main="insert", equal_work=True, paced=("insert", "delete")),
    StepKind("query", main="query", paced=("insert", "delete")),
)

_ROWS_PER_COMMIT = {"l.i0": 100, "l.i1": 50, "l.i2": 5, "query": 50}
# Rows/s of all clients, as measured on two cores with MariaDB 10.11. Used only if the lake has no run of this host.
_GUESSED_RATES = {"load": 200_000.0, "index": 400_000.0, "write": 40_000.0, "query": 40_000.0}
_ORIGINAL_WAIT_S, _ROWS_PER_WAIT_S = 60.0, 1_000_000
"""How long iq.sh waits after the last write: in any case, and a second for so many rows of all tables."""


@dataclass(frozen=True, kw_only=True)
class Step(workload.Step):
    """One resolved step. `amount` is the number of rows that each inserter inserts; None if `seconds` ends the step.

    `target_per_s` is the target of inserted and of deleted rows per second and client. `clock_s` is the second of the
    simulated clock (`rows.py`) at which the step's inserters begin: no earlier than the end of the steps before it.
    """

    rows_per_commit: int = 0
    query: Literal["range", "point"] | None = None
    clock_s: int = 0

    @property
    def deletes(self) -> bool:
        """Whether each client has a deleter as well."""
        return self.churns

    @property
    def tick_ns(self) -> int | None:
        """The interval of the statements of a paced inserter or deleter; None if they are not paced."""
        return round(self.rows_per_commit / self.target_per_s * 1e9) if self.target_per_s else None

    @property
    def clock_end_s(self) -> int:
        """The second of the simulated clock that no inserter of this step goes beyond."""
        statements = 0
        if self.amount is not None:
            statements = self.amount // self.rows_per_commit
        elif self.seconds is not None and self.tick_ns is not None:
            statements = math.ceil(self.seconds * 1e9 / self.tick_ns)  # those that are due
        return self.clock_s + clock_seconds(statements, self.rows_per_commit or 1)


def plan(options: Options, setup: Setup, scale: float) -> list[Step]:
    """The steps of a run: the setup's rows and seconds times `scale`, in whole statements and seconds, at least one."""
    steps: list[Step] = []
    for spec in step_specs(options.steps):
        step = _step(spec, options, setup, scale)
        steps.append(replace(step, clock_s=steps[-1].clock_end_s) if steps else step)
    if options.settle != "none":
        # Once, between the last step that only writes and the queries after it, as the original does.
        last_write = max(number for number, step in enumerate(steps) if step.kind != "query")
        if last_write + 1 < len(steps):
            wait_s = _ORIGINAL_WAIT_S + loaded_rows(options, steps) / _ROWS_PER_WAIT_S
            steps[last_write + 1] = replace(
                steps[last_write + 1], settle_before=True, settle_s=wait_s if options.settle == "original" else None
            )
    return steps


def loaded_rows(options: Options, steps: Sequence[Step]) -> int:
    """Rows of all tables after the load; each later step deletes as many as it inserts."""
    return sum(step.amount or 0 for step in steps if not step.deletes) * options.clients


def work(options: Options, steps: Sequence[Step]) -> list[Work]:
    """The rows that each step inserts, or makes an index of."""
    loaded = loaded_rows(options, steps)
    amounts = [
        None if step.seconds is not None else loaded if step.kind == "index" else (step.amount or 0) * options.clients
        for step in steps
    ]
    return [Work(amount, _GUESSED_RATES[step.kind]) for step, amount in zip(steps, amounts, strict=True)]


def disk_bytes(options: Options, steps: Sequence[Step]) -> int:
    """About how large the tables are on disk: as observed with MariaDB 10.11, not an upper limit.

    A row takes 94 bytes after l.i0, 178 with its three secondary indexes, 294 after half of the rows were replaced; a
    row that is deleted and not yet purged adds what is in the undo log.
    """
    loaded = loaded_rows(options, steps)
    churned = sum(step.amount or 0 for step in steps if step.deletes) * options.clients
    return loaded * (300 if options.secondary_indexes else 150) + min(churned, 10 * loaded) * 50


def described(step: Step) -> dict[str, Any]:
    """A step in the manifest, with the keys that manifests have had since the first run; others where they say more."""
    more = {} if step.settle_s is None else {"settle_s": step.settle_s}
    return {
        "name": step.name,
        "form": step.form,
        "kind": step.kind,
        "rows_per_commit": step.rows_per_commit,
        "rows": step.amount,
        "seconds": step.seconds,
        "rate": step.target_per_s,
        "deletes": step.deletes,
        "query": step.query,
        "settle_before": step.settle_before,
        "long_transaction": step.background,
        **more,
    }


def _step(spec: StepSpec, options: Options, setup: Setup, scale: float) -> Step:
    name = step_name(spec)
    held = name in options.long_transaction
    query = QUERY_STEP.fullmatch(spec.step)
    if query:
        # Whole seconds: a target of few statements a second is then met exactly, not rounded up by a started tick.
        return Step(
            name=name,
            form=spec.step,
            kind="query",
            rows_per_commit=spec.rows_per_commit or _ROWS_PER_COMMIT["query"],
            seconds=float(max(1, round((spec.seconds or setup.query_seconds) * scale))),
            target_per_s=float(query["rate"]),
            churns=True,
            query="range" if query["query"] == "r" else "point",
            background=held,
        )
    if spec.step == "l.x":
        return Step(name=name, form=spec.step, kind="index", background=held)
    sizes = {"l.i0": setup.l_i0_rows, "l.i1": setup.l_i1_rows, "l.i2": setup.l_i2_rows}
    per_commit = spec.rows_per_commit or _ROWS_PER_COMMIT[spec.step]
    rows = spec.rows or sizes[spec.step]
    if rows is None:
        raise ExperimentError(
            f"setup {setup.name}: step {name} needs l_i2_rows", hint="set l_i2_rows in the setup, or `rows` in the step"
        )
    return Step(
        name=name,
        form=spec.step,
        kind="load" if spec.step == "l.i0" else "write",
        rows_per_commit=per_commit,
        amount=max(1, round(rows * scale / per_commit)) * per_commit,
        target_per_s=spec.rate,
        churns=spec.step != "l.i0",
        background=held,
    )
