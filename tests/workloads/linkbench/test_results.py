"""The reading half, on runs whose rates can be worked out in the head."""

from __future__ import annotations

from typing import Any

import pytest

import ibench_lib as ib
from ibench_lib.lake import reader
from ibench_lib.lake.manifest import KindRecord, OperationRecord
from ibench_lib.lake.writer import RunWriter
from ibench_lib.paths import Workspace
from ibench_lib.workloads.linkbench.inputs import OPERATIONS
from tests.show.tables.parsed import Parsed
from tests.synthetic import BIN_500_US, Run, answer, manifest_of

STEPS = {"t2": 2, "t4": 4, "control": 2}


def write(workspace: Workspace, run: Run, rates: dict[str, int]) -> None:
    """A run with two processes and steps of 2 s: every second each operation is done so often, by half in a process."""
    writer = RunWriter(workspace.run_dir(run.run_id))
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
            writer.append(
                "workers", **key, client=client, worker=client - 1, role="requester", **times, status="complete",
                ops=rate * len(OPERATIONS), rows=0, errors=0, retries=0, unknown=0,
            )  # fmt: skip
        writer.append(
            "steps", **key, kind="requests", status="complete", clients=2, insert_rows_per_commit=None,
            target_rows_per_s=None, existing_rows=None, **times, duration_s=2.0, history_list_length=None,
            client_bound=None,
        )  # fmt: skip
    described: dict[str, Any] = {
        "benchmark": "linkbench",
        "operations": [OperationRecord(name=n, family="request", counts="ops", label="ops/s") for n in OPERATIONS],
        "kinds": [KindRecord(name="requests", main="request")],
        "workload": {
            "clients": 2, "nodes_used": 1000, "loaded": {"linktable": 4000}, "degree_tail": "scaled", "tables": "2015",
            "statements": "2015", "partitions": 16, "requesters": [2, 4], "rate": None, "checked_ids": 100,
            "count_rows": True,
            "resolved_steps": [{"name": step, "requesters": STEPS[step]} for step in rates],
        },
    }  # fmt: skip
    writer.seal(manifest_of(run).model_copy(update=described))


@pytest.fixture
def lake(workspace: Workspace) -> Any:
    write(workspace, Run("a"), {"t2": 100, "t4": 160, "control": 80})
    write(workspace, Run("b", minute=1), {"t2": 50, "t4": 80, "control": 50})
    return reader.lake(workspace)


def test_rates_percentiles_and_fairness(lake: Any) -> None:
    summary = answer(lake, "linkbench_summary").filter(dbms="system.a")
    assert summary.select("step", "requesters", "ops_per_s", "least", "most").rows() == [
        ("t2", 2, 1000.0, 1000.0, 1000.0), ("t4", 4, 1600.0, 800.0, 800.0), ("control", 2, 800.0, 800.0, 800.0),
    ]  # fmt: skip
    found = answer(lake, "linkbench_operations").filter(dbms="system.a", step="t2")
    assert found["operation"].to_list() == list(OPERATIONS)
    first = found.row(0, named=True)
    assert (first["done"], first["share"], first["rows_per_op"]) == (200, 10.0, 2.0)
    assert (first["mean_s"], first["max_s"]) == pytest.approx((500e-6, 600e-6))
    assert first["p25_s"] == first["p50_s"] == first["p99_s"] == pytest.approx(500e-6, rel=0.01)
    assert first["p999_s"] is None


def test_tables_and_chart_show_every_dbms(lake: Any) -> None:
    summary = answer(lake, "linkbench_summary")
    rows = {row[0]: row for row in Parsed(ib.requesters_table(summary, base="system.a")).rows}
    assert rows["system.a (base)"][1] == "1,000" and rows["system.b"][2].startswith("0.50")
    fair = {row[0]: row for row in Parsed(ib.requester_fairness_table(summary.filter(step="t4"))).rows}
    assert fair["system.b"][1:4] == ["4", "400", "400"]
    operations = answer(lake, "linkbench_operations").filter(dbms="system.b", step="t4")
    names = [row[0] for row in Parsed(ib.linkbench_operations_table(operations)).rows if len(row) > 1]
    assert names[-len(OPERATIONS) :] == list(OPERATIONS)
    chart = ib.requesters_chart(summary)
    assert [(line.name, list(line.x), list(line.y)) for line in chart.data] == [
        ("system.a", [2, 4], [1000.0, 1600.0]),
        ("system.b", [2, 4], [500.0, 800.0]),
    ]


def test_what_is_said(lake: Any) -> None:
    size, verdict = ib.linkbench_statements(answer(lake, "linkbench_workload"))
    assert "1,000 nodes and 4,000 links after the load" in size and "2 and 4 requesters in up to 2 processes" in size
    assert verdict.startswith("Verdict: all 2 runs passed the checks")
    (drift,) = ib.drift_statements(answer(lake, "linkbench_summary"))
    assert "when t2 was repeated at the end, its rate relative to the first time was 0.80 with system.a" in drift
