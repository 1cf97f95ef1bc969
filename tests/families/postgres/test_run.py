"""All steps of the Insert Benchmark on a real PostgreSQL: rows are counted, and figures are kept."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.sweep import run_experiment
from ibench_lib.servers.build import Build
from ibench_lib.store import reader
from tests.families.postgres.runs import experiment, register
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
    run = workspace.run_dir(manifest.run_id)
    steps = pq.read_table(run / "steps.parquet").to_pylist()
    assert [step["step"] for step in steps] == ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100"]
    ops = pq.read_table(run / "ops.parquet").to_pylist()
    inserted, deleted = (sum(row["rows"] for row in ops if row["operation"] == name) for name in ("insert", "delete"))
    assert inserted >= 6500 and 0 < deleted <= inserted, "the runner has compared both with COUNT(*) after each step"
    counters = {row["name"] for row in pq.read_table(run / "server_counters.parquet").to_pylist()}
    assert {"tables.dead_rows", "pg_stat_database.xact_commit"} <= counters
    sizes = pq.read_table(run / "sizes.parquet").to_pylist()
    assert all(row["bytes"] for row in sizes if row["what"] in ("table_data", "database", "datadir", "redo"))
    assert {row["bytes"] for row in sizes if row["what"] == "undo"} == {None}
    processes = pq.read_table(run / "process_samples.parquet").to_pylist()
    assert max(row["threads"] for row in processes) > 4 and processes[-1]["cpu_user_s"] > 0
