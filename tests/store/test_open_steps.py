"""Runs that go on, or whose runner died."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ibench_lib.paths import Workspace
from ibench_lib.store import open_steps, reader
from tests.store.lakes import rows, step_row
from tests.synthetic import Run, answer, begin_run, die, end_run

pytestmark = pytest.mark.lake


def test_a_run_whose_runner_died_is_read_and_says_so(workspace: Workspace) -> None:
    run = Run(status="running", steps=("l.i0", "l.x", "l.i1"), l_i1_s=2)
    writer = begin_run(workspace, run, sealed=("l.i0", "l.x"))
    die(writer)
    lake = reader.lake(workspace)
    (row,) = rows(lake, "SELECT status, error FROM runs")
    assert row["status"] == "failed"
    assert "ibench runs recover" in row["error"]
    frame = answer(lake, "step_throughput")
    assert frame["step_status"].to_list() == ["complete", "complete", "failed", "not run"]
    assert step_row(frame, "system.cy10a", "l.i1")["unknown"] == 4, "each client may have had one in flight"


def test_a_file_that_goes_while_a_live_run_is_read_is_a_problem_and_no_crash(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = Run("live", status="running", steps=("l.i0", "l.x"))
    writer = begin_run(workspace, live, sealed=("l.i0",))
    real = pq.read_table

    def gone(path: Path, *more: Any, **named: Any) -> pa.Table:
        if "probes" in Path(path).name:
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return real(path, *more, **named)

    with monkeypatch.context() as patched:
        patched.setattr(pq, "read_table", gone)
        found = rows(reader.lake(workspace), "SELECT file, problem FROM problems")
    end_run(writer, live)
    (problem,) = found
    assert problem["file"].startswith("probes") and "No such file" in problem["problem"]


def test_counts_that_a_driven_program_does_not_print_stay_unknown() -> None:
    mine = [{"worker": 0, "last": 4, "ops": 10, "rows": None, "errors": None, "retries": None, "unknown": None}]
    row = {"step_id": 1, "worker": 0, "start_s": 2.0, "status": "running"}
    closed = open_steps._closed(row, "workers", {1: mine}, "failed")
    assert (closed["ops"], closed["rows"], closed["unknown"], closed["end_s"]) == (10, None, None, 7.0)
