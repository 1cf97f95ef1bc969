"""Runs that came from elsewhere, damaged in all sorts of ways with checksums that fit: named, and the others load."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ibench_lib.paths import Workspace
from tests.command import ibench
from tests.lake.lakes import vouch
from tests.synthetic import Run, write_runs


def without(column: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.drop_columns([column])


def twice(column: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.append_column(column, table.column(column))


def also(column: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.append_column(column, pa.array(["x"] * table.num_rows))


COLUMNS: dict[str, tuple[Callable[[pa.Table], pa.Table], str]] = {
    "no-run": (without("run_id"), "column run_id is missing"),
    "no-step": (without("step_id"), "column step_id is missing"),
    "no-status": (without("status"), "column status is missing"),
    "only-runs": (lambda table: table.select(["run_id"]), "is missing"),
    "twice": (twice("step_id"), "column step_id is there twice"),
    "twice-in-other-case": (also("STEP"), "column step is there twice"),
    "what-duckdb-adds": (also("filename"), "column filename is there"),
}


def rewrite(run_dir: Path, table: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Replace a table's file, and let the manifest vouch for it."""
    path = run_dir / f"{table}.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    vouch(run_dir, table)


def damaged_by(name: str) -> Run:
    """The run that one of COLUMNS has damaged."""
    return Run(name, minute=1 + list(COLUMNS).index(name))


@pytest.mark.slow
@pytest.mark.parametrize("more", [0, 5])  # read one by one, and by the index
def test_odd_columns_are_named_and_the_other_runs_load(workspace: Workspace, more: int) -> None:
    good = [Run(minute=50 + number) for number in range(1 + more)]
    write_runs(workspace, *good, *map(damaged_by, COLUMNS))
    for name, (change, _) in COLUMNS.items():
        rewrite(workspace.run_dir(damaged_by(name).run_id), "steps", change)
    asked = "SELECT run_id, count(*) AS n FROM steps GROUP BY ALL ORDER BY ALL"
    shown, listed = ibench(workspace, "sql", "-f", "csv", asked), ibench(workspace, "runs")
    assert shown.stdout.split() == ["run_id,n", *(f"{run.run_id},4" for run in good)], shown.stderr
    verified = ibench(workspace, "runs", "verify")
    assert (shown.returncode, listed.returncode, verified.returncode) == (0, 0, 1)
    for name, (_, said) in COLUMNS.items():
        run_id = damaged_by(name).run_id
        for result in (shown, listed):
            (line,) = [line for line in result.stderr.splitlines() if run_id in line]
            assert line.startswith(f"skipped {run_id} steps.parquet: ") and said in line
        assert f"{run_id}: bad\n    steps.parquet: " in verified.stdout and said in verified.stdout
    assert all(f"{run.run_id}: good" in verified.stdout for run in good)


@pytest.mark.slow
def test_what_verify_calls_bad_is_not_pulled(workspace: Workspace, tmp_path: Path) -> None:
    there = Workspace(tmp_path / "there")
    write_runs(there, *map(damaged_by, COLUMNS))
    for name, (change, said) in COLUMNS.items():
        run_id = damaged_by(name).run_id
        rewrite(there.run_dir(run_id), "steps", change)
        pulled = ibench(workspace, "runs", "pull", str(there.runs), run_id)
        assert pulled.returncode == 1 and "is not good: steps.parquet" in pulled.stderr and said in pulled.stderr
    assert list(workspace.runs.iterdir()) == []
