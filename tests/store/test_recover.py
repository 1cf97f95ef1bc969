"""What a dead runner leaves is read, sealed and never half."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.errors import LakeError
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store import recover as recovery
from ibench_lib.store.recover import left_behind, recover, recover_all
from ibench_lib.store.verify import verify
from tests.store.dead import DEAD, altered
from tests.synthetic import Run, begin_run, die

pytestmark = pytest.mark.lake


def dead_run(workspace: Workspace) -> Path:
    die(begin_run(workspace, DEAD, sealed=("l.i0", "l.x")))
    return workspace.run_dir(DEAD.run_id)


def test_a_dead_run_is_recovered_with_its_open_step_as_far_as_it_went(workspace: Workspace) -> None:
    run_dir = dead_run(workspace)
    before = reader.sql(reader.lake(workspace), "SELECT * FROM ops ORDER BY ALL")
    assert left_behind(workspace.runs) == [run_dir]
    manifest = recover(run_dir)
    assert (manifest.status, manifest.failed_step) == ("failed", "l.i1")
    assert "the runner died" in (manifest.error or "")
    assert left_behind(workspace.runs) == []
    assert verify(run_dir) == []
    assert {path.suffix for path in run_dir.iterdir()} == {".json", ".parquet"}
    lake = reader.lake(workspace)
    assert reader.sql(lake, "SELECT * FROM ops ORDER BY ALL").equals(before)
    (step,) = reader.sql(lake, "SELECT * FROM steps WHERE step = 'l.i1'").to_dicts()
    assert (step["status"], step["duration_s"]) == ("failed", 2.0)
    workers = reader.sql(lake, "SELECT * FROM workers WHERE step = 'l.i1'").to_dicts()
    assert {(row["status"], row["rows"], row["ops"], row["unknown"]) for row in workers} == {("failed", 25_000, 500, 1)}
    with pytest.raises(LakeError, match="is sealed"):
        recover(run_dir)


def test_a_dead_run_that_began_with_a_snapshot_died_after_what_it_had_not_to_do(workspace: Workspace) -> None:
    dead = replace(DEAD, steps=("l.i1",), loaded_from="r1")
    die(begin_run(workspace, dead, sealed=()))
    assert recover(workspace.run_dir(dead.run_id)).failed_step == "l.i1"


def test_a_cut_journal_is_recovered_and_the_loss_is_named(workspace: Workspace) -> None:
    run_dir = dead_run(workspace)
    (stream,) = (run_dir / "journal").glob("ops.3.arrows")
    stream.write_bytes(stream.read_bytes()[:-40])
    manifest = recover(run_dir)
    assert any("ops.3.arrows is cut" in warning for warning in manifest.warnings)
    assert any("lacks 1 of" in warning for warning in manifest.warnings)
    assert verify(run_dir) == []


def rows_of(workspace: Workspace, table: str, step: str) -> list[tuple[Any, ...]]:
    return reader.lake(workspace).execute(f"SELECT * FROM {table} WHERE step = '{step}' ORDER BY ALL").fetchall()


def test_damaged_seconds_are_left_out_and_named_and_their_step_has_failed(workspace: Workspace) -> None:
    run_dir = dead_run(workspace)
    seconds = rows_of(workspace, "ops", "l.i0"), rows_of(workspace, "ops", "l.i1")
    altered(run_dir / "ops.2.parquet")
    manifest = recover(run_dir)
    said = "ops.2.parquet: 4 rows left out of the recovered run: its content does not match the SHA-256 in the manifest"
    assert said in manifest.warnings
    for table in ("response_times", "workers"):
        left_out = f"{table}.2.parquet: left out as well: its rows are about ops.2.parquet"
        assert left_out in manifest.warnings
    assert verify(run_dir) == []
    assert (rows_of(workspace, "ops", "l.i0"), rows_of(workspace, "ops", "l.i1")) == seconds
    assert rows_of(workspace, "ops", "l.x") == rows_of(workspace, "workers", "l.x") == []
    steps = "SELECT step, status FROM steps ORDER BY step_id"
    assert reader.lake(workspace).execute(steps).fetchall() == [
        ("l.i0", "complete"), ("l.x", "failed"), ("l.i1", "failed"),
    ]  # fmt: skip
    assert manifest.failed_step == "l.x"


@pytest.mark.parametrize("damage", ["altered", "cut", "removed"])
@pytest.mark.parametrize("table", ["workers", "steps", "probes", "response_times"])
def test_whatever_part_is_damaged_the_rest_is_recovered(workspace: Workspace, table: str, damage: str) -> None:
    run_dir = dead_run(workspace)
    seconds = reader.sql(reader.lake(workspace), "SELECT * FROM ops ORDER BY ALL")
    times = rows_of(workspace, "response_times", "l.i0")
    part = run_dir / f"{table}.1.parquet"
    if damage == "altered":
        altered(part)
    elif damage == "cut":
        part.write_bytes(part.read_bytes()[:-9])
    else:
        part.unlink()
    manifest = recover(run_dir)
    assert any(warning.startswith(f"{part.name}: ") and "left out" in warning for warning in manifest.warnings)
    assert verify(run_dir) == []
    assert reader.sql(reader.lake(workspace), "SELECT * FROM ops ORDER BY ALL").equals(seconds)
    assert rows_of(workspace, "response_times", "l.i0") == times, "made again from the seconds"
    assert bool(rows_of(workspace, table, "l.i0")) == (table == "response_times")
    if table == "workers":
        lake = reader.lake(workspace)
        assert lake.execute("SELECT status FROM steps WHERE step = 'l.i0'").fetchall() == [("failed",)]
    assert manifest.failed_step == ("l.i0" if table in ("workers", "steps") else "l.i1")


def test_an_error_that_nobody_thought_of_does_not_keep_others_from_being_recovered(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = dead_run(workspace)
    other = begin_run(workspace, Run("other", minute=1, status="running"), sealed=())
    die(other)
    known = recovery.kept_mask
    monkeypatch.setattr(recovery, "kept_mask", lambda folder: known(folder) if folder != odd else 1 / 0)
    sealed, errors = recover_all(workspace.runs)
    assert [manifest.run_id for manifest in sealed] == [other.run_dir.name]
    assert [error.what for error in errors] == [
        f"run {odd.name}: it cannot be recovered: ZeroDivisionError: division by zero"
    ]


def test_a_run_that_cannot_be_recovered_does_not_keep_others_from_it(workspace: Workspace) -> None:
    run_dir = dead_run(workspace)
    other = begin_run(workspace, Run("other", minute=1, status="running"), sealed=())
    die(other)
    (run_dir / "manifest.json").write_text("{")
    sealed, errors = recover_all(workspace.runs)
    assert [manifest.run_id for manifest in sealed] == [other.run_dir.name]
    assert len(errors) == 1 and "unreadable" in errors[0].what
    assert run_dir.is_dir()
