"""The roll-up of `ops`, by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ibench_lib.schema import OPS, RESPONSE_TIMES
from ibench_lib.store.derive import response_times

RUN = "20261121T100000Z-demo-cached-cy10a-r1"


def ops(*rows: dict[str, Any]) -> pa.Table:
    common = {"run_id": RUN, "step_id": 2, "step": "qr100", "client": 1, "ops": 0, "rows": 0, "errors": 0, "retries": 0}
    more = {"unknown": 0, "service_sum_us": 0.0}
    return pa.Table.from_pylist([{**common, **more, **row} for row in rows], schema=OPS.arrow_schema)


def second(worker: int, operation: str, number: int, service: dict[int, int], max_us: float | None) -> dict[str, Any]:
    return {
        "worker": worker, "operation": operation, "second": number, "service_bins": list(service),
        "service_counts": list(service.values()), "service_max_us": max_us,
    }  # fmt: skip


def test_seconds_of_a_worker_become_one_row() -> None:
    large = 2**32 - 1
    found = response_times(
        ops(
            # Workers are not in order; the second of worker 1 was a stall.
            {**second(1, "insert", 0, {100: 1, 300: 2}, 40.0), "intended_bins": [110], "intended_counts": [3],
             "intended_max_us": 41.0},
            {**second(1, "insert", 1, {}, None), "intended_bins": [], "intended_counts": []},
            {**second(1, "insert", 2, {0: 1, 300: 5}, 39.0), "intended_bins": [110, 2000], "intended_counts": [5, 1],
             "intended_max_us": 2e9},
            second(0, "range_query", 0, {7: large}, 1.2),
            second(0, "range_query", 1, {7: large, 8: 1}, 1.1),
            second(2, "range_query", 0, {}, None),
        )
    )  # fmt: skip
    assert found.schema.equals(RESPONSE_TIMES.arrow_schema)
    columns = ["worker", "operation", "timing", "responses", "max_us", "bins", "counts"]
    assert [tuple(row.values()) for row in found.select(columns).to_pylist()] == [
        (0, "range_query", "service", 2 * large + 1, 1.2, [7, 8], [2 * large, 1]),
        (1, "insert", "intended", 9, 2e9, [110, 2000], [8, 1]),
        (1, "insert", "service", 9, 40.0, [0, 100, 300], [1, 1, 7]),
        (2, "range_query", "service", 0, None, [], []),
    ]
    assert set(found["run_id"].to_pylist()) == {RUN}


def test_steps_workers_and_operations_are_kept_apart() -> None:
    rows = [
        {**second(worker, operation, 0, {9: 1}, 2.0), "step_id": step_id, "step": f"s{step_id}"}
        for step_id in (2, 1)
        for worker in (1, 0)
        for operation in ("range_query", "delete")
    ]
    found = response_times(pa.concat_tables([ops(row) for row in rows]))
    keys = list(zip(*(found[name].to_pylist() for name in ("step_id", "worker", "operation")), strict=True))
    assert keys == sorted((row["step_id"], row["worker"], row["operation"]) for row in rows)
    assert found["responses"].to_pylist() == [1] * 8


def test_nothing_rolls_up_to_nothing() -> None:
    assert response_times(ops()).equals(RESPONSE_TIMES.arrow_schema.empty_table())
