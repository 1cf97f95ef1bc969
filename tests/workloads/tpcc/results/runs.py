"""Runs of TPC-C with known rates, without a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibench_lib as ib
from ibench_lib.paths import Workspace
from ibench_lib.store.manifest import KindRecord, OperationRecord
from ibench_lib.store.writer import RunWriter
from ibench_lib.workloads.tpcc.checks import CONDITIONS
from ibench_lib.workloads.tpcc.mix import TYPES
from tests.synthetic import BIN_2_S, BIN_500_US, Run, answer, manifest_of, write_checks

KIND = "run"
PER_SECOND = {"payment": 10, "order_status": 1, "delivery": 1, "stock_level": 1}


def write(
    workspace: Workspace,
    run: Run,
    new_orders: list[int],
    *,
    repeats: dict[str, int] | None = None,
    more: dict[str, Any] | None = None,
    step_id: int = 0,
    sizes: list[tuple[int, str, int]] | None = None,
    loaded: Sequence[str] = (),
    checked: Sequence[str] = (*CONDITIONS, "ledger"),
    broken: str = "",
    intended: int | None = None,
    target: float | None = None,
) -> None:
    """A run of TPC-C with one step: new orders second by second, of which one a second is rolled back as intended.

    The other types have their share of 23 for ten new orders. Every response takes 500 us, and one new order a second
    takes 2 s. `repeats` are those of the first second's new orders, `more` what its workload has in the manifest
    besides, `sizes` the bytes of its database after each step, `loaded` and `checked` the rules that were checked after
    the load and after the run, of which a defect has `broken` one. `intended` is the bin of intended times, if
    paced, and `target` how many transactions a second are due.
    """
    writer, seconds = RunWriter(workspace.run_dir(run.run_id)), len(new_orders)
    key = {"step_id": step_id, "step": KIND}
    write_checks(writer, 0, "load", loaded)
    write_checks(writer, step_id, KIND, checked, broken, "profile tpcc_mysql")
    for number, step, size in sizes or []:
        writer.append("sizes", step_id=number, step=step, what="database", name="", bytes=size)
    total = 0
    for second, orders in enumerate(new_orders):
        for operation in TYPES:
            done = orders if operation == "new_order" else PER_SECOND[operation] * orders // 10
            total += done
            rows = done - 1 if operation == "new_order" and done else done
            slow = 1 if operation == "new_order" and done else 0
            bins = {BIN_500_US: done - slow, BIN_2_S: slow}
            errors = {"deadlocks": 0, "lock_timeouts": 0, "changed": 0}
            if operation == "new_order" and second == 0:
                errors |= repeats or {}
            writer.append(
                "ops", **key, client=1, worker=0, operation=operation, second=second, ops=done, rows=rows, errors=0,
                retries=sum(errors.values()), **errors, unknown=0, service_sum_us=0.0,
                service_max_us=2.1e6 if slow else 500.0,
                service_bins=[bin_ for bin_, n in bins.items() if n], service_counts=[n for n in bins.values() if n],
                intended_max_us=intended and 2.1e6, intended_bins=intended and [intended],
                intended_counts=intended and [done],
            )  # fmt: skip
    times: dict[str, Any] = {"start_s": 1.0, "end_s": 1.0 + seconds}
    writer.append(
        "workers", **key, client=1, worker=0, role="terminal", **times, status="complete", ops=total, rows=total,
        errors=0, retries=sum((repeats or {}).values()), unknown=0,
    )  # fmt: skip
    writer.append(
        "steps", **key, kind=KIND, status="complete", clients=1, insert_rows_per_commit=None, target_rows_per_s=target,
        existing_rows=None, **times, duration_s=float(seconds), history_list_length=None, client_bound=None,
    )  # fmt: skip
    described = {
        "benchmark": "tpcc",
        "operations": [OperationRecord(name=n, family="transaction", counts="ops", label="tx/s") for n in TYPES],
        "kinds": [KindRecord(name=KIND, main="transaction")],
        "workload": {
            "clients": 1, "profile": "standard", "setup": {"sets": 1, "terminals": 8}, "warehouses_used": 2,
            "isolation": "repeatable_read", "foreign_keys": "none", "checks": "auto", "count_rows": True,
            "resolved_steps": [{"name": KIND, "kind": KIND, "seconds": float(seconds)}],
            **(more or {}),
        },
    }  # fmt: skip
    writer.seal(manifest_of(run).model_copy(update=described))


def square(high: int, low: int, period: int, low_for: int, seconds: int, first: int = 0) -> list[int]:
    """A rate that is low for `low_for` of every `period` seconds."""
    return [low if (second + first) % period >= period - low_for else high for second in range(seconds)]


def said_of(lake: Any, experiment: str = "demo") -> list[str]:
    return ib.tpcc_statements(answer(lake, "tpcc_workload", experiment), answer(lake, "checks", experiment))
