"""What the reading half of the Insert Benchmark shares with its driving half."""

import json
from dataclasses import asdict

from ibench_lib.paths import WORKLOADS
from ibench_lib.store.manifest import KindRecord, OperationRecord
from ibench_lib.workloads.insert_benchmark.workload import EDITION, WORKLOAD
from tests.places import ROOT


def test_older_runs_have_the_operations_and_kinds_that_new_ones_name() -> None:
    text = (WORKLOADS / "insert_benchmark" / "results" / "undescribed_runs.json").read_text(encoding="utf-8")
    known = json.loads(text)
    operations = [OperationRecord.model_validate(asdict(operation)) for operation in WORKLOAD.operations]
    assert [OperationRecord.model_validate(row) for row in known["operations"]] == operations
    kinds = [KindRecord.model_validate(asdict(kind) | {"paced": list(kind.paced)}) for kind in WORKLOAD.kinds]
    assert [KindRecord.model_validate(row) for row in known["kinds"]] == kinds


def test_the_documents_list_every_deviation_of_the_last_edition_from_the_original() -> None:
    listed = json.loads((WORKLOADS / "insert_benchmark" / "results" / "deviations.json").read_text(encoding="utf-8"))
    rows = listed["deviations"]
    current = [row for row in rows if EDITION in row.get("editions", [EDITION])]
    head = [f"| what | {listed['original']} | ibench |", "|---|---|---|"]
    table = [*head, *(f"| {row['what']} | {row['original']} | {row['here']} |" for row in current)]
    page = (ROOT / "docs" / "measurement.md").read_text(encoding="utf-8")
    assert "\n" + "\n".join(table) + "\n\n" in page, "docs/measurement.md has to have this table:\n" + "\n".join(table)
    assert {edition for row in rows for edition in row.get("editions", [])} <= {*range(1, EDITION + 1)}
