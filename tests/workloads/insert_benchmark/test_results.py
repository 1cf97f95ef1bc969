"""What the reading half of the Insert Benchmark shares with its driving half."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import ibench_lib as ib
from ibench_lib.paths import WORKLOADS, Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import KindRecord, OperationRecord
from ibench_lib.workloads.insert_benchmark.workload import EDITION, WORKLOAD
from tests.places import ROOT
from tests.show.parsed import Parsed
from tests.show.saying import made_of
from tests.synthetic import Run, answer


def test_older_runs_have_the_operations_and_kinds_that_new_ones_name() -> None:
    text = (WORKLOADS / "insert_benchmark" / "results" / "undescribed_runs.json").read_text(encoding="utf-8")
    known = json.loads(text)
    operations = [OperationRecord.model_validate(asdict(operation)) for operation in WORKLOAD.operations]
    assert [OperationRecord.model_validate(row) for row in known["operations"]] == operations
    kinds = [KindRecord.model_validate(asdict(kind) | {"paced": list(kind.paced)}) for kind in WORKLOAD.kinds]
    assert [KindRecord.model_validate(row) for row in known["kinds"]] == kinds


DEVIATIONS = json.loads((WORKLOADS / "insert_benchmark" / "results" / "deviations.json").read_text(encoding="utf-8"))


def test_the_documents_list_every_deviation_of_the_last_edition_from_the_original() -> None:
    rows = DEVIATIONS["deviations"]
    current = [row for row in rows if EDITION in row.get("editions", [EDITION])]
    head = [f"| what | {DEVIATIONS['original']} | ibench |", "|---|---|---|"]
    table = [*head, *(f"| {row['what']} | {row['original']} | {row['here']} |" for row in current)]
    page = (ROOT / "docs" / "measurement.md").read_text(encoding="utf-8")
    assert "\n" + "\n".join(table) + "\n\n" in page, "docs/measurement.md has to have this table:\n" + "\n".join(table)
    assert {edition for row in rows for edition in row.get("editions", [])} <= {*range(1, EDITION + 1)}


def test_a_post_lists_the_deviations_of_its_runs(workspace: Workspace) -> None:
    def second(manifest: dict[str, Any]) -> None:
        if manifest["cell"]["config"] == "b":
            manifest["workload"]["edition"] = 2

    made_of(workspace, Run(), Run("b", minute=1), change=second)
    frame = answer(reader.lake(workspace), "workload")
    assert sorted(frame["edition"]) == [1, 2], "runs made before there was a second edition are of the first"
    texts = {
        editions: {row[0]: row[2] for row in Parsed(ib.deviations_table(frame.filter(rows))).rows if len(row) == 3}
        for editions, rows in (
            ("1", frame["edition"] == 1),
            ("2", frame["edition"] == 2),
            ("both", frame["edition"] > 0),
        )
    }
    of_all = [row["what"] for row in DEVIATIONS["deviations"] if "editions" not in row]
    only_first = [row["what"] for row in DEVIATIONS["deviations"] if row.get("editions") == [1]]
    assert "smallest key in point queries" in only_first and "dateandtime" in of_all
    assert {*of_all} <= texts["2"].keys() and texts["2"].keys().isdisjoint(only_first)
    assert {*of_all, *only_first} <= texts["1"].keys()
    assert not any("edition" in text for text in (*texts["1"].values(), *texts["2"].values()))
    assert all(texts["both"][what].endswith("(runs of edition 1 only)") for what in only_first)
