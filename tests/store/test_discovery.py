"""Which runs a lake is made of, and which it leaves out and names."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ibench_lib.paths import Workspace
from ibench_lib.schema import SCHEMA_MINOR, SCHEMA_VERSION, TABLES
from ibench_lib.store import reader
from ibench_lib.store.manifest import with_checksum
from tests.store.lakes import ask_everything, flip_bytes, forget, rewrite_steps, rows, vouch
from tests.synthetic import Run, answer, write_runs

pytestmark = pytest.mark.lake


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def ask_one(lake: duckdb.DuckDBPyConnection) -> None:
    assert answer(lake, "one_second").height > 0


@pytest.mark.slow
@pytest.mark.fault("F29")
@pytest.mark.parametrize("asked", [ask_one, pytest.param(ask_everything, marks=pytest.mark.long)])
def test_a_damaged_file_is_named_and_the_rest_loads(
    workspace: Workspace, asked: Callable[[duckdb.DuckDBPyConnection], None]
) -> None:
    good = Run()
    bad = {
        Run(damage.__name__, minute=minute): damage
        for minute, damage in enumerate((truncate, flip_bytes, empty, Path.unlink), 1)
    }
    write_runs(workspace, good, *bad)
    for run, damage in bad.items():
        damage(workspace.run_dir(run.run_id) / "ops.parquet")
    lake = reader.lake(workspace)
    problems = rows(lake, "SELECT * FROM problems ORDER BY run_id")
    assert [(problem["run_id"], problem["file"]) for problem in problems] == [
        (run.run_id, "ops.parquet") for run in bad
    ]
    assert all(problem["problem"] for problem in problems)
    assert rows(lake, "SELECT DISTINCT run_id FROM ops") == [{"run_id": good.run_id}]
    assert len(rows(lake, "SELECT * FROM steps")) == 4 * (1 + len(bad))
    asked(lake)


def test_a_file_that_no_manifest_lists_does_not_count(workspace: Workspace) -> None:
    run = Run()
    write_runs(workspace, run)
    directory = workspace.run_dir(run.run_id)
    shutil.copy(directory / "ops.parquet", directory / "ops.7.parquet")
    shutil.copy(directory / "probes.parquet", directory / "table_counts.parquet")
    before = rows(reader.lake(workspace), "SELECT count(*) AS n FROM ops")
    (directory / "ops.7.parquet").unlink()
    lake = reader.lake(workspace)
    assert rows(lake, "SELECT count(*) AS n FROM ops") == before
    assert rows(lake, "SELECT * FROM problems") == rows(lake, "SELECT * FROM table_counts") == []


@pytest.mark.fault("F27")
def test_a_symlinked_run_directory_is_refused_and_named(workspace: Workspace, tmp_path: Path) -> None:
    run = Run()
    write_runs(workspace, run)
    elsewhere = tmp_path / "elsewhere"
    workspace.run_dir(run.run_id).rename(elsewhere)
    workspace.run_dir(run.run_id).symlink_to(elsewhere)
    lake = reader.lake(workspace)
    assert rows(lake, "SELECT * FROM runs") == rows(lake, "SELECT * FROM steps") == []
    (problem,) = rows(lake, "SELECT * FROM problems")
    assert problem["run_id"] == run.run_id
    assert "symbolic link" in problem["problem"]


@pytest.mark.fault("F33")
def test_a_run_of_a_newer_format_is_refused_and_names_the_version_to_use(workspace: Workspace) -> None:
    old, new = Run(), Run("cy10ap1", minute=1)
    write_runs(workspace, old, new)
    path = workspace.run_dir(new.run_id) / "manifest.json"
    path.write_bytes(with_checksum({**json.loads(path.read_text()), "schema_version": SCHEMA_VERSION + 1}))
    lake = reader.lake(workspace)
    assert [row["run_id"] for row in rows(lake, "SELECT run_id FROM runs")] == [old.run_id]
    (problem,) = rows(lake, "SELECT * FROM problems")
    assert f"format {SCHEMA_VERSION + 1}" in problem["problem"]


def test_a_copied_run_directory_does_not_count_twice(workspace: Workspace) -> None:
    run = Run()
    write_runs(workspace, run)
    shutil.copytree(workspace.run_dir(run.run_id), workspace.runs / "copy-of-it")
    lake = reader.lake(workspace)
    assert len(rows(lake, "SELECT * FROM steps")) == 4
    (problem,) = rows(lake, "SELECT * FROM problems")
    assert problem["run_id"] == "copy-of-it"


@pytest.mark.fault("F33")
def test_a_run_of_an_older_schema_loads_with_nulls(workspace: Workspace) -> None:
    old, new = Run(), Run("cy10ap1", minute=1)
    write_runs(workspace, old, new)
    rewrite_steps(workspace, old, lambda table: table.drop_columns(["history_list_length", "client_bound"]))
    lake = reader.lake(workspace)
    assert rows(lake, "SELECT * FROM problems") == []
    lags = answer(lake, "purge_lag_at_step_end")
    assert lags.filter(pl.col("run_id") == old.run_id)["history_list_length"].to_list() == [None] * 4
    assert lags.filter(pl.col("run_id") == new.run_id)["history_list_length"].to_list() == [10, 20, 30000, 5]


@pytest.mark.fault("F33")
def test_a_run_of_a_newer_minor_version_loads_without_what_this_one_does_not_know(workspace: Workspace) -> None:
    old, new = Run(), Run("cy10ap1", minute=1)
    write_runs(workspace, old, new)
    rewrite_steps(workspace, new, lambda table: table.append_column("of_the_future", pa.array([1.0] * len(table))))
    path = workspace.run_dir(new.run_id) / "manifest.json"
    path.write_bytes(with_checksum({**json.loads(path.read_text()), "schema_minor": SCHEMA_MINOR + 1}))
    lake = reader.lake(workspace)
    assert rows(lake, "SELECT * FROM problems") == []
    assert len(rows(lake, "SELECT * FROM steps")) == 8
    assert "of_the_future" not in reader.sql(lake, "FROM steps").columns


@pytest.mark.long
@pytest.mark.fault("F33")
def test_runs_of_every_minor_version_load_and_answer_every_question(workspace: Workspace) -> None:
    """What docs/versions.md promises: each run has only the tables and columns that its format had."""
    runs = [Run(f"minor{minor}", minute=minor) for minor in range(SCHEMA_MINOR + 1)]
    write_runs(workspace, *runs)
    for minor, run in enumerate(runs):
        age(workspace.run_dir(run.run_id), minor)
    lake = reader.lake(workspace)
    assert rows(lake, "SELECT * FROM problems") == []
    rates = answer(lake, "step_throughput").filter(pl.col("step") == "l.i1")
    assert rates["run_id"].n_unique() == len(runs) and rates["ips"].n_unique() == 1 and rates["ips"].null_count() == 0
    assert all(isinstance(frame, pl.DataFrame) for frame in ask_everything(lake).values())


def age(directory: Path, minor: int) -> None:
    """Leave a run the tables and columns that its format had in a minor version."""
    for table in TABLES.values():
        path = directory / table.file_name
        if not path.is_file():
            continue
        if table.since > minor:
            forget(directory, table.name)
        elif later := [column.name for column in table.columns if column.since > minor]:
            pq.write_table(pq.read_table(path).drop_columns(later), path)
            vouch(directory, table.name)
    manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
    (directory / "manifest.json").write_bytes(with_checksum({**manifest, "schema_minor": minor}))


def test_a_column_of_another_type_is_refused(workspace: Workspace) -> None:
    good, bad = Run(), Run("cy10ap1", minute=1)
    write_runs(workspace, good, bad)

    def as_text(table: pa.Table) -> pa.Table:
        at = table.schema.get_field_index("duration_s")
        return table.set_column(at, "duration_s", table.column("duration_s").cast(pa.string()))

    rewrite_steps(workspace, bad, as_text)
    lake = reader.lake(workspace)
    (problem,) = rows(lake, "SELECT * FROM problems")
    assert "duration_s is string, not double" in problem["problem"]
    assert rows(lake, "SELECT DISTINCT run_id FROM steps") == [{"run_id": good.run_id}]


def test_a_workspace_whose_path_looks_like_a_pattern_is_a_path(tmp_path: Path) -> None:
    odd, other = Workspace(tmp_path / "a[1]*?'x"), Workspace(tmp_path / "a1'x")
    write_runs(odd, Run())
    write_runs(other, Run("cy10ap1", minute=1))
    assert rows(reader.lake(odd), "SELECT DISTINCT run_id FROM steps") == [{"run_id": Run().run_id}]


def test_runs_that_came_with_the_workspace_are_in_its_lake_and_none_counts_twice(workspace: Workspace) -> None:
    shipped, own = Run(), Run("cy10ap1", minute=1)
    write_runs(workspace, shipped)
    shutil.move(workspace.runs, workspace.sample)
    write_runs(workspace, own)
    lake = reader.lake(workspace)
    assert set(answer(lake, "step_throughput")["run_id"]) == {shipped.run_id, own.run_id}
    assert rows(lake, "FROM problems") == []
    shutil.copytree(workspace.sample / shipped.run_id, workspace.run_dir(shipped.run_id))
    lake = reader.lake(workspace)
    assert len(rows(lake, "FROM runs")) == 2
    assert [(row["run_id"], row["problem"]) for row in rows(lake, "FROM problems")] == [
        (shipped.run_id, "it is also in sample/ and is counted once")
    ]
