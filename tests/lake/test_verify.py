"""Verifying names what is wrong with a run."""

import pyarrow.parquet as pq
import pytest

from ibench_lib.lake.verify import verify
from ibench_lib.paths import Workspace
from tests.synthetic import Run, write_runs


def test_verify_names_what_is_wrong(workspace: Workspace) -> None:
    run = Run()
    write_runs(workspace, run)
    run_dir = workspace.run_dir(run.run_id)
    assert verify(run_dir) == []
    (run_dir / "notes.txt").write_text("mine")
    content = bytearray((run_dir / "ops.parquet").read_bytes())
    content[len(content) // 2] ^= 1
    (run_dir / "ops.parquet").write_bytes(content)
    (run_dir / "probes.parquet").unlink()
    problems = verify(run_dir)
    assert len(problems) == 3
    assert {problem.split(":")[0] for problem in problems} == {"ops.parquet", "probes.parquet", "notes.txt"}


def test_verify_sees_totals_that_the_seconds_do_not_make(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run()
    (writer,) = write_runs(workspace, run)
    path = writer.run_dir / "workers.parquet"
    table = pq.read_table(path)
    changed = [{**row, "rows": row["rows"] + 1} for row in table.to_pylist()]
    pq.write_table(table.from_pylist(changed, schema=table.schema), path)
    monkeypatch.setattr("ibench_lib.lake.verify.check_file", lambda path, *_: pq.read_schema(path))
    problems = verify(writer.run_dir)
    assert len(problems) == 14
    assert problems[0] == "workers.parquet: step l.i0, worker 0: not what its seconds add up to"
