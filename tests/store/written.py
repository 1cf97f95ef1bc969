"""A manifest and rows for tests of what is written."""

from typing import Any

from ibench_lib.store.manifest import Manifest


def manifest(run_id: str, **changes: Any) -> Manifest:
    return Manifest.model_validate(
        {
            "tool_version": "0",
            "run_id": run_id,
            "status": "running",
            "origin_wall": "2026-01-01T00:00:00+00:00",
            "experiment": {"name": "e", "title": "t", "text": ""},
            "cell": {"build": "b", "config": "c", "dbms": "b.c", "setup": "s", "repeat": 1, "fingerprint": "f"},
            "workload": {},
            "scale": 1.0,
            "config": {"my_cnf": "", "fragments": {}},
            "host": {},
            "versions": {},
            **changes,
        }
    )


def second(number: int, step_id: int = 0, worker: int = 0, **changes: Any) -> dict[str, Any]:
    row = {
        "step_id": step_id,
        "step": f"s{step_id}",
        "client": worker + 1,
        "worker": worker,
        "operation": "insert",
        "second": number,
        "ops": 3,
        "rows": 150,
        "errors": 0,
        "retries": 0,
        "unknown": 0,
        "service_sum_us": 1500.0,
        "service_max_us": 600.0 + number,
        "service_bins": [573, 590],
        "service_counts": [2, 1],
    }
    return {**row, **changes}
