"""Options and a setup of the Insert Benchmark for tests."""

from typing import Any

from ibench_lib.workloads.insert_benchmark.options import Options, Setup


def options(**changes: Any) -> Options:
    values = {"benchmark": "insert_benchmark", "clients": 2, "steps": ["l.i0", "l.x", "l.i1", "qr100"], **changes}
    return Options.model_validate(values)


SETUP = Setup(name="s", l_i0_rows=1000, l_i1_rows=1000, l_i2_rows=100, query_seconds=10)
