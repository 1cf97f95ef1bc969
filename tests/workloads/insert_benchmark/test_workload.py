"""What the reading half of the Insert Benchmark shares with its driving half."""

import json
from dataclasses import asdict

from ibench_lib.paths import WORKLOADS
from ibench_lib.store.manifest import KindRecord, OperationRecord
from ibench_lib.workloads.insert_benchmark.workload import WORKLOAD


def test_older_runs_have_the_operations_and_kinds_that_new_ones_name() -> None:
    text = (WORKLOADS / "insert_benchmark" / "results" / "undescribed_runs.json").read_text(encoding="utf-8")
    known = json.loads(text)
    operations = [OperationRecord.model_validate(asdict(operation)) for operation in WORKLOAD.operations]
    assert [OperationRecord.model_validate(row) for row in known["operations"]] == operations
    kinds = [KindRecord.model_validate(asdict(kind) | {"paced": list(kind.paced)}) for kind in WORKLOAD.kinds]
    assert [KindRecord.model_validate(row) for row in known["kinds"]] == kinds
