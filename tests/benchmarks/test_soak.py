"""The soak: its checks see what they look for, and its report counts what its log says."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks import soak
from ibench_lib.paths import Workspace
from ibench_lib.store.manifest import read_manifest
from tests.places import ROOT
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_runs(Workspace(tmp_path), Run(), Run("p1", minute=1, status="failed", error="killed", steps=("l.i0",)))
    return tmp_path


def complete_run(home: Path) -> Path:
    (found,) = (path for path in Workspace(home).runs.iterdir() if read_manifest(path).status == "complete")
    return found


def test_a_whole_lake_has_no_findings(home: Path) -> None:
    assert soak.checks(home, soak.seen(home), gone=False) == []


def test_what_a_kill_must_not_leave_is_found_once(home: Path) -> None:
    place = Workspace(home)
    (place.sandboxes / "one").mkdir(parents=True)
    (place.runs / ".arriving-x").mkdir()
    assert soak.checks(home, {}, gone=False) == ["left in sandboxes: one", "left in runs: .arriving-x"]
    assert soak.checks(home, {}, gone=False) == []


def test_a_second_that_was_readable_and_is_not_is_found(home: Path) -> None:
    before = soak.seen(home)
    run_id = complete_run(home).name
    before[run_id][9, 9, "insert", 9] = (1, 1)
    before["gone"] = {(0, 0, "insert", 0): (1, 1)}
    lost, gone = soak.checks(home, before, gone=False)
    assert lost.startswith(f"{run_id}: 1 seconds that were readable are not there") and gone == "gone: it is gone"
    assert len(soak.checks(home, before, gone=True)) == 1, "what was to be removed may be gone"


def test_a_run_that_lacks_a_step_is_not_complete(home: Path) -> None:
    run_dir = complete_run(home)
    assert soak.not_complete(run_dir, read_manifest(run_dir)) == []
    steps = pq.read_table(run_dir / "steps.parquet")
    pq.write_table(steps.slice(0, steps.num_rows - 1), run_dir / "steps.parquet")
    assert soak.not_complete(run_dir, read_manifest(run_dir)) == ["step qr100 is not complete"]


def test_the_report_counts_kills_by_command_and_process(tmp_path: Path) -> None:
    events = [
        soak.Event(1, "run tpcc"),
        soak.Event(2, "run tpcc", "server", "in load", killed=True),
        soak.Event(2, "run tpcc", "runner", "sealing", killed=True),
        soak.Event(3, "pull", "ibench runs", killed=True, problems=["left in runs: .arriving-x"]),
    ]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(event.__dict__) + "\n" for event in events))
    command = [sys.executable, "-m", "benchmarks.soak", str(tmp_path), "--report"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0] == "3 kills in 3 commands; 1 command was followed by a finding."
    assert "| run, TPC-C | 2 | 1 | 1 | 0 | 0 | 0 | 0 |" in lines and "| pull | 1 | 1 | 0 | 0 | 0 | 0 | 0 |" in lines
    assert "| all | 3 | 2 | 1 | 0 | 0 | 0 | 0 |" in lines and "| sealing | 1 |" in lines


def test_it_ends_at_a_time_of_the_day_even_if_an_event_outlasts_that_minute() -> None:
    now = datetime.now(UTC)
    for minutes in (-5, 5):
        at = now + timedelta(minutes=minutes)
        found = soak._next(f"{at:%H:%M}")
        assert found > now and found - now <= timedelta(days=1) and f"{found:%H:%M}" == f"{at:%H:%M}"
