"""Runs of LinkBench with known rates and counts, without a server."""

from __future__ import annotations

from typing import Any

from ibench_lib.paths import Workspace
from ibench_lib.store.manifest import KindRecord, OperationRecord
from ibench_lib.store.writer import RunWriter
from ibench_lib.workloads.linkbench.inputs import MIX, OPERATIONS
from ibench_lib.workloads.linkbench.steps import kind_of
from tests.synthetic import BIN_500_US, Run, manifest_of, write_checks

STEPS = {"t2": 2, "t4": 4, "control": 2}


OUTCOMES = {
    "add_link": "inserted", "update_link": "shown", "delete_link": "hidden", "count_link": "found", "get_node": "found",
    "add_node": "inserted", "update_node": "updated", "delete_node": "deleted",
}  # fmt: skip


# Statements of all operations, if each of them is done once.
NEEDED = {
    "com_select": 5, "com_insert": 6, "com_update": 3, "com_delete": 1, "com_begin": 3, "com_commit": 3,
    "com_rollback": 0,
}  # fmt: skip


def write(workspace: Workspace, run: Run, rates: dict[str, int], wrong: int = 0, checked: int = 3) -> None:
    """A run with two processes and steps of 2 s: every second each operation is done so often, by half in a process.

    The server has counted `wrong` updates too many in each step. So many kinds of checks were made.
    """
    writer = RunWriter(workspace.run_dir(run.run_id))
    write_checks(writer, 0, next(iter(rates)), ["rows", "ledger", "counts"][:checked])
    for step_id, (step, rate) in enumerate(rates.items()):
        key, times = {"step_id": step_id, "step": step}, {"start_s": 1.0 + 2 * step_id, "end_s": 3.0 + 2 * step_id}
        for client in (1, 2):
            for second in (0, 1):
                for operation in OPERATIONS:
                    writer.append(
                        "ops", **key, client=client, worker=client - 1, operation=operation, second=second,
                        ops=rate // 2, rows=rate, errors=0, retries=0, deadlocks=0, lock_timeouts=0, changed=0,
                        unknown=0, service_sum_us=500.0 * (rate // 2), service_max_us=600.0, service_bins=[BIN_500_US],
                        service_counts=[rate // 2], intended_max_us=None, intended_bins=None, intended_counts=None,
                    )  # fmt: skip
            for connection in range(STEPS[step] // 2):
                for operation in OPERATIONS:
                    writer.append(
                        "outcomes", **key, client=client, worker=client - 1, connection=connection,
                        operation=operation, outcome=OUTCOMES.get(operation, "1"), ops=2 * rate // STEPS[step],
                    )  # fmt: skip
            writer.append(
                "workers", **key, client=client, worker=client - 1, role="requester", **times, status="complete",
                ops=rate * len(OPERATIONS), rows=0, errors=0, retries=0, unknown=0,
            )  # fmt: skip
        for counter, of_each in NEEDED.items():
            counted = 2 * rate * of_each + (5 if counter == "com_select" else wrong if counter == "com_update" else 0)
            writer.append(
                "step_counters", **key, source="server", name="", counter=counter, start_s=times["start_s"] - 0.01,
                start_value=1000.0, end_s=times["end_s"] + 0.01, end_value=1000.0 + counted,
            )  # fmt: skip
        writer.append(
            "steps", **key, kind=kind_of(step), status="complete", clients=2,
            insert_rows_per_commit=None, target_rows_per_s=None, existing_rows=None, **times, duration_s=2.0,
            history_list_length=None, client_bound=None,
        )  # fmt: skip
    described: dict[str, Any] = {
        "benchmark": "linkbench",
        "operations": [OperationRecord(name=n, family="request", counts="ops", label="ops/s") for n in OPERATIONS],
        "kinds": [
            KindRecord(name="requests", main="request"),
            KindRecord(name="control", main="request", compared=False),
        ],
        "workload": {
            "clients": 2, "nodes_used": 1000, "loaded": {"linktable": 4000}, "degree_tail": "scaled", "tables": "2015",
            "statements": "2015", "partitions": 16, "requesters": [2, 4], "rate": None, "checked_ids": 100,
            "count_rows": True, "mix": MIX,
            "resolved_steps": [
                {"name": s, "kind": kind_of(s), "requesters": STEPS[next(iter(rates)) if s == "control" else s]}
                for s in rates
            ],
        },
    }  # fmt: skip
    writer.seal(manifest_of(run).model_copy(update=described))
