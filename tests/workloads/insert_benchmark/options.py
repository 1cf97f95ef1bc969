"""Options for tests."""

from typing import Any

from ibench_lib.workloads.insert_benchmark import workload as ib


def options(**changes: Any) -> ib.Options:
    values = {"benchmark": "insert_benchmark", "clients": 2, "steps": ["l.i0", "l.x", "l.i1", "qr100"], **changes}
    return ib.Options.model_validate(values)
