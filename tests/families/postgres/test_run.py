"""All steps of the Insert Benchmark on a real PostgreSQL: rows are counted, and figures are kept."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.sweep import run_experiment
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.store import reader
from ibench_lib.workloads.workload import Step
from tests.families.postgres.boxes import connected
from tests.families.postgres.runs import SMALL, HandOn, experiment, register, run
from tests.synthetic import answer


@pytest.mark.slow
@pytest.mark.lake
@pytest.mark.parametrize("protocol", ["text", "prepared"])
def test_all_steps_run_and_what_is_counted_is_what_was_acknowledged(
    postgres: Build, open_path: Path, protocol: str
) -> None:
    workspace = Workspace(open_path)
    register(postgres, workspace)
    steps = "l.i0, l.x, l.i1, l.i2, qr100, qp100"
    path = experiment(open_path, steps=steps, protocol=protocol)
    (manifest,) = run_experiment(load_experiment(path), workspace, Observer()).made
    assert manifest.status == "complete", manifest.error
    assert manifest.server is not None and manifest.server.variables["shared_buffers"] == "24MB"
    assert [action.action for action in manifest.settle] == ["VACUUM (ANALYZE, INDEX_CLEANUP ON) pi1", "CHECKPOINT"]
    assert "no history list" in manifest.null_reasons["steps.history_list_length"]
    assert manifest.workload["engine"] is None, "a server without storage engines has none of that name"
    missing = answer(reader.lake(workspace), "gaps", "pg")
    assert missing.is_empty(), "a list that the server does not have is not missing"
    run_dir = workspace.run_dir(manifest.run_id)
    steps = pq.read_table(run_dir / "steps.parquet").to_pylist()
    assert [step["step"] for step in steps] == ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100"]
    ops = pq.read_table(run_dir / "ops.parquet").to_pylist()
    inserted, deleted = (sum(row["rows"] for row in ops if row["operation"] == name) for name in ("insert", "delete"))
    assert inserted >= 6500 and 0 < deleted <= inserted, "the runner has compared both with COUNT(*) after each step"
    counters = {row["name"] for row in pq.read_table(run_dir / "server_counters.parquet").to_pylist()}
    assert {"tables.dead_rows", "pg_stat_database.xact_commit"} <= counters
    sizes = pq.read_table(run_dir / "sizes.parquet").to_pylist()
    assert all(row["bytes"] for row in sizes if row["what"] in ("table_data", "database", "datadir", "redo"))
    assert {row["bytes"] for row in sizes if row["what"] == "undo"} == {None}
    processes = pq.read_table(run_dir / "process_samples.parquet").to_pylist()
    assert max(row["threads"] for row in processes) > 4 and processes[-1]["cpu_user_s"] > 0


class Analysing(HandOn):
    """Makes fresh statistics after steps: only with these the planner looks for the smallest key.

    A step of a fast machine may last less than the server takes to count its dead rows, and a capture to look at them:
    two seconds later both have.
    """

    def step_ends(self, step: Step, duration_s: float) -> None:
        time.sleep(2.2)
        connection = connected(self.boxes[-1], "ibench")
        connection.query("ANALYZE")
        connection.close()


@pytest.mark.slow
@pytest.mark.lake
def test_dead_rows_pile_up_without_autovacuum_and_the_benchmarks_vacuum_removes_them(
    postgres: Build, open_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks that planning reads stand for the time, which a busy machine decides."""
    workspace = Workspace(open_path)
    register(postgres, workspace)
    options = SMALL + "autovacuum = off\n"
    path = experiment(
        open_path, options, rows=30_000, l_i1_rows=30_000, steps="l.i0, l.x, l.i1, l.i2, qr100", protocol="text"
    )
    manifest = run(path, Analysing(), monkeypatch)
    assert manifest.status == "complete", manifest.error
    found = answer(reader.lake(workspace), "get_min_dead_rows", "pg").to_dicts()
    of_step = {row["step"]: row for row in found}
    before, piled, settled = (of_step[step] for step in ("l.i1", "l.i2", "qr100"))
    assert of_step["l.x"]["dead_rows"] == 0 and piled["dead_rows"] >= 29_000 and settled["dead_rows"] < 1_000
    assert (before["vacuums"], piled["vacuums"]) == (0, 0) and settled["vacuums"] > 0
    assert min(row["get_min_s"] for row in (before, piled, settled)) > 0
    # 30,000 entries fill 80 pages of the primary key, which the planner steps over.
    assert piled["plan_delete_blocks"] > before["plan_delete_blocks"] + 40, (before, piled)
    assert piled["plan_delete_blocks"] > settled["plan_delete_blocks"] + 40, (piled, settled)


@pytest.mark.slow
def test_a_snapshot_is_vacuumed_so_that_no_cell_begins_with_the_dead_rows_of_its_load(
    postgres: Build, open_path: Path
) -> None:
    workspace = Workspace(open_path)
    register(postgres, workspace)
    path = experiment(open_path, SMALL + "autovacuum = off\n", steps="l.i0, l.x, l.i1, qr100", seconds=1)
    path.write_text(path.read_text().replace("settle: flush", "settle: none") + "snapshot_after: l.i1\n")
    (manifest,) = run_experiment(load_experiment(path), workspace, Observer()).made
    assert manifest.status == "complete", manifest.error
    assert manifest.snapshot_made is not None and manifest.snapshot_made.rows == {"pi1": 4000}
    counted = pq.read_table(workspace.run_dir(manifest.run_id) / "server_counters.parquet").to_pylist()
    last = {row["name"]: row["value"] for row in sorted(counted, key=lambda row: row["tick"])}
    assert last["tables.vacuums"] > 0 and last["tables.dead_rows"] < 400, "l.i1 has left 2,000, and qr100 100 more"


@pytest.mark.slow
def test_the_smallest_key_is_behind_dead_rows_until_a_vacuum(shared_box: Sandbox) -> None:
    """By the blocks that the first query reads: a second one would find the entries marked."""

    def blocks() -> int:
        text = connection.text("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT min(id) FROM behind")
        plan = json.loads(text)[0]["Plan"]
        return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])

    connection = connected(shared_box, "postgres")
    try:
        connection.query("CREATE TABLE behind (id int PRIMARY KEY) WITH (autovacuum_enabled = off)")
        connection.query("INSERT INTO behind SELECT generate_series(1, 20000)")
        few = blocks()
        connection.query("DELETE FROM behind WHERE id < 19900")
        assert blocks() > few + 50, "it steps over every dead row"
        connection.query("VACUUM (INDEX_CLEANUP ON) behind")
        assert blocks() <= few + 10
    finally:
        connection.query("DROP TABLE IF EXISTS behind")
        connection.close()
