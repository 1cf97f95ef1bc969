"""Options for tests."""

from typing import Any

from ibench_lib.workloads.insert_benchmark.options import Options


def options(**changes: Any) -> Options:
    values = {"benchmark": "insert_benchmark", "clients": 2, "steps": ["l.i0", "l.x", "l.i1", "qr100"], **changes}
    return Options.model_validate(values)
