"""Runs of sysbench with known rates and counts, without a server."""

from __future__ import annotations

from typing import Any

from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import KindRecord, OperationRecord
from ibench_lib.store.writer import RunWriter
from ibench_lib.workloads.sysbench.options import ChosenTest
from ibench_lib.workloads.sysbench.steps import KINDS, OPERATIONS
from tests.synthetic import BIN_500_US, Run, manifest_of, write_checks

RATES = {
    "oltp_point_select.t1": 100,
    "oltp_point_select.t4": 300,
    "select_random_points.t1": 50,
    "oltp_write_only.t1": 20,
}


PROGRAM = {"version": "sysbench 1.0.20", "sha256": "a" * 64, "name": "sysbench"}
COUNTERS = {"read": "com_select", "write": "com_update", "other": "com_commit"}


def write(
    workspace: Workspace, run: Run, rates: dict[str, int], *, wrong: int = 0, retries: int = 0, bins: bool = True,
    moved: int = 0, program: dict[str, str] = PROGRAM, rate: int | None = None,
) -> None:  # fmt: skip
    """A run with steps of 2 s: in each second so many transactions, each with 2 reads, 3 writes and 1 other statement.

    The server has counted `wrong` writes too many in each step, and `moved` writes that sysbench has among the others.
    """
    writer = RunWriter(workspace.run_dir(run.run_id))
    write_checks(writer, 0, next(iter(rates)), ["rows"])
    timing = "intended" if rate else "service"
    for step_id, (step, per_s) in enumerate(rates.items()):
        key, times = {"step_id": step_id, "step": step}, {"start_s": 1.0 + 2 * step_id, "end_s": 3.0 + 2 * step_id}
        for second in (0, 1):
            for operation, each in (("transaction", 1), ("read", 2), ("write", 3), ("other", 1)):
                recorded = bins and operation == "transaction"
                held: dict[str, Any] = dict.fromkeys(
                    ("service_bins", "service_counts", "intended_bins", "intended_counts")
                )
                if recorded:
                    held |= {f"{timing}_bins": [BIN_500_US], f"{timing}_counts": [per_s]}
                writer.append(
                    "ops", **key, client=1, worker=0, operation=operation, second=second, ops=each * per_s, rows=None,
                    errors=0, retries=retries if operation == "transaction" else 0, unknown=None, service_sum_us=None,
                    service_max_us=None, intended_max_us=None, **held,
                )  # fmt: skip
        writer.append(
            "workers", **key, client=1, worker=0, role="sysbench", **times, status="complete", ops=7 * 2 * per_s,
            rows=None, errors=0, retries=0, unknown=None, ops_from="counts",
        )  # fmt: skip
        for (operation, counter), each in zip(COUNTERS.items(), (2, 3, 1), strict=True):
            more = {"read": 5, "write": wrong + moved, "other": -moved}[operation]
            counted = 2 * per_s * each + more
            writer.append(
                "step_counters", **key, source="server", name="", counter=counter, start_s=times["start_s"] - 0.01,
                start_value=1000.0, end_s=times["end_s"] + 0.01, end_value=1000.0 + counted,
            )  # fmt: skip
        writer.append(
            "steps", **key, kind="test", status="complete", clients=1, insert_rows_per_commit=None,
            target_rows_per_s=None, existing_rows=None, **times, duration_s=2.0, history_list_length=None,
            client_bound=None,
        )  # fmt: skip
    resolved = []
    for step in rates:
        name, _, threads = step.rpartition(".t")
        test = ChosenTest(test=name, rate=rate)
        resolved.append(
            {
                "name": step, "kind": "test", "threads": int(threads), "tables": 2, "table_size": 500,
                "test": test.model_dump() | {"name": test.label, "group": test.known.group},
            }
        )  # fmt: skip
    workload = {
        "clients": 1, "rand_type": "uniform", "db_ps_mode": "auto", "threads": [1, 4],
        "tests": [{"test": name, "name": ""} for name in dict.fromkeys(step.rpartition(".t")[0] for step in rates)],
        "setup": {"warm_up": 0.0}, "program": program, "resolved_steps": resolved,
    }  # fmt: skip
    described: dict[str, Any] = {
        "benchmark": "sysbench",
        "operations": [
            OperationRecord(name=one.name, family=one.family, counts=one.counts, label=one.label) for one in OPERATIONS
        ],
        "kinds": [KindRecord(name=kind.name, main=kind.main, compared=kind.compared) for kind in KINDS],
        "workload": workload,
    }
    writer.seal(manifest_of(run).model_copy(update=described))


MICRO = {
    "insert.t1": 40, "point-query.t1": 100, "hot-points.t1": 80, "scan.t1": 10, "range-covered-pk.t1": 20,
    "update-zipf.t1": 50,
}  # fmt: skip


def micro(workspace: Workspace, *factors: float) -> Any:
    """A lake with the dbms system.a and, for each factor, one with so many times its rates; of scan half of that."""
    write(workspace, Run("a"), MICRO)
    for place, factor in enumerate(factors):
        rates = {step: round(rate * factor * (0.5 if "scan" in step else 1)) for step, rate in MICRO.items()}
        write(workspace, Run("bcdefghijklmn"[place], minute=place + 1), rates)
    return reader.lake(workspace)
