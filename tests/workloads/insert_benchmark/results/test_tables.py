"""The table of get_min."""

import json
from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.paths import WORKLOADS, Workspace
from ibench_lib.store import reader
from tests.shared import asked
from tests.show.parsed import Parsed, golden
from tests.show.saying import made_of
from tests.synthetic import Run, answer

pytestmark = pytest.mark.lake


def test_get_min_prints_as_published_and_marks_over_ten_times_the_best() -> None:
    published = [row for row in golden("published_get_min_seconds.csv") if row["setup"] == "cached"]
    names = list(dict.fromkeys(row["dbms"] for row in published))
    steps = ["l.i1", "q100", "q500", "q1000"]
    frame = pl.DataFrame(
        [
            {
                "setup": "cached", "dbms": row["dbms"], "dbms_position": names.index(row["dbms"]), "repeat": 1,
                "run_status": "complete", "step_id": steps.index(row["step"]), "step": row["step"],
                "step_status": "complete", "get_min_s": float(row["get_min_s"]),
            }
            for row in published
        ]
    )  # fmt: skip
    table = Parsed(ib.get_min_table(frame))
    assert table.of("my8033_rel_lto.cy10a_gcp_c2s30") == ["0.033 slow", "95.307 slow", "1.915 slow", "0.001"]
    assert table.of("my8033_rel_lto.cy10a7_gcp_c2s30") == ["0.033 slow", "92.804 slow", "0.002", "0.001"]
    assert table.of("my8033_rel_lto.cy10a10_gcp_c2s30")[1:] == ["0.001", "0.001", "0.001"]
    assert table.of("my5651_rel.cy10a_gcp_c2s30") == ["0.000", "450.500 slow", "368.100 slow", "126.500 slow"]


def test_get_min_of_a_step_that_failed_later_is_still_shown() -> None:
    failed = Run(status="failed", failed_step="l.i1", steps=("l.i0", "l.x", "l.i1"), get_min_s=(0.001, 0.001, 0.25, 0))
    frame = asked("get_min", failed)
    assert Parsed(ib.get_min_table(frame)).of("system.cy10a")[2:] == ["0.250 †", "not run"]


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
    path = WORKLOADS / "insert_benchmark" / "results" / "deviations.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["deviations"]
    of_all = [row["what"] for row in rows if "editions" not in row]
    only_first = [row["what"] for row in rows if row.get("editions") == [1]]
    assert "smallest key in point queries" in only_first and "dateandtime" in of_all
    assert {*of_all} <= texts["2"].keys() and texts["2"].keys().isdisjoint(only_first)
    assert {*of_all, *only_first} <= texts["1"].keys()
    assert not any("edition" in text for text in (*texts["1"].values(), *texts["2"].values()))
    assert all(texts["both"][what].endswith("(runs of edition 1 only)") for what in only_first)
