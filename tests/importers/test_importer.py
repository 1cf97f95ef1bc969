"""What an importer may hand over, and what would be invented."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ibench_lib.errors import UsageError
from ibench_lib.importers import intake
from ibench_lib.importers.importer import Columns, ImportedRun
from ibench_lib.paths import Workspace
from ibench_lib.schema import TABLES
from ibench_lib.store.manifest import read_manifest
from tests.importers.handed_over import hand_over, run_with, second

pytestmark = pytest.mark.lake


def test_no_second_is_invented(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in intake._OF_A_SECOND:
        for resolution_s in (None, 0.1, 2.0, 10.0):
            with pytest.raises(UsageError, match=rf"others\.txt:7: a row of {table} stands for one second"):
                hand_over(workspace, monkeypatch, run_with(table, second(), resolution_s=resolution_s))
    assert not workspace.runs.exists()


def test_seconds_of_a_tool_that_reports_each_are_taken(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir = hand_over(workspace, monkeypatch, run_with("ops", second(), second(second=1), resolution_s=1.0))
    assert read_manifest(run_dir).files["ops.parquet"].rows == 2


@pytest.mark.parametrize("lasts_s", [-10.0, 0.0, 0.5, 1.0, 1.1, math.nan, math.inf])
@pytest.mark.parametrize("at_once", [False, True])
def test_an_interval_is_longer_than_a_second(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, lasts_s: float, at_once: bool
) -> None:
    row = {"step": "q100", "client": 0, "operation": "range_query", "end_s": 60.0, "ops_per_s": 7.5}

    def run(seconds: float) -> ImportedRun:
        if not at_once:
            return run_with("intervals", {**row, "seconds": seconds})
        values = {name: value for name, value in row.items() if name != "step"}
        piece = Columns("q100", 1, {**values, "end_s": np.array([60.0]), "seconds": np.array([seconds])})
        return replace(run_with("intervals"), rows={}, columns={"intervals": [piece]})

    with pytest.raises(UsageError, match=r"others\.txt:7: a row of intervals stands for .* s: it is for longer ones"):
        hand_over(workspace, monkeypatch, run(lasts_s))
    assert list(workspace.runs.iterdir()) == []
    assert read_manifest(hand_over(workspace, monkeypatch, run(10.0))).files["intervals.parquet"].rows == 1


def test_every_table_of_seconds_is_known() -> None:
    """A new table with a row per second falls under the law."""
    with_intervals = {
        "waits",
        "profile_stacks",
        "thread_samples",
        "perf_counters",
    }  # each row says how long its interval is
    texts = {"innodb_status", "processlist"}  # what was seen at a moment
    of_times = {name for name, table in TABLES.items() if {"second", "tick"} & {c.name for c in table.columns}}
    assert of_times - with_intervals - texts == intake._OF_A_SECOND


def test_no_bin_is_invented(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    p95 = second(service_bins=[600], service_counts=[10])
    with pytest.raises(UsageError, match=r"others.txt:7: service_counts has bins, and the tool recorded none"):
        hand_over(workspace, monkeypatch, run_with("ops", p95, resolution_s=1.0))
    assert list(workspace.runs.iterdir()) == []
    with pytest.raises(UsageError, match=r"others\.txt:7: service_counts has 9 of 10 answers"):
        wrong = second(service_bins=[600], service_counts=[9])
        hand_over(workspace, monkeypatch, run_with("ops", wrong, resolution_s=1.0, histograms=True))
    assert list(workspace.runs.iterdir()) == []
    hand_over(workspace, monkeypatch, run_with("ops", p95, resolution_s=1.0, histograms=True))


def test_what_is_worked_out_from_other_tables_is_not_imported(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="response_times is derived"):
        hand_over(workspace, monkeypatch, run_with("response_times"))
