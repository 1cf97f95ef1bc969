"""From the journal to Parquet: what a loss of rows or a kill at any call leaves."""

import subprocess
import sys

import pytest

from ibench_lib.errors import CaptureFailed, LakeError
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from ibench_lib.store.recover import left_behind, recover_all
from ibench_lib.store.verify import verify
from tests.places import ROOT
from tests.store.dead import DEAD, altered
from tests.synthetic import begin_run, end_run, manifest_of

pytestmark = pytest.mark.lake


def test_a_journal_that_loses_rows_while_its_run_goes_on_fails_the_step(workspace: Workspace) -> None:
    writer = begin_run(workspace, DEAD, sealed=("l.i0",))
    (stream,) = (workspace.run_dir(DEAD.run_id) / "journal").glob("ops.2.arrows")
    altered(stream)
    with pytest.raises(CaptureFailed, match=r"journal: .*ops\.2\.arrows is"):
        writer.seal_step(manifest_of(DEAD))
    with pytest.raises(LakeError, match=r"rows were lost .*ops\.2\.arrows is"):
        end_run(writer, DEAD)
    manifest = read_manifest(workspace.run_dir(DEAD.run_id))
    assert manifest.status == "failed" and any("ops.2.arrows is" in warning for warning in manifest.warnings)


@pytest.mark.long
@pytest.mark.fault("F31")
@pytest.mark.slow
def test_f31_a_runner_killed_at_any_call_leaves_the_old_or_the_new_and_what_it_promised(
    workspace: Workspace,
) -> None:
    command = [sys.executable, "-m", "tests.store.failpoints", str(workspace.root)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[-1][2] == "lived" and "sealed" in lines[-1][1]
    assert len(lines) > 40, "every call was met"
    lake = reader.lake(workspace)
    for moment, promised, _ in lines:
        run_id = f"r{int(moment):03d}"
        done_steps = [word for word in promised.split(",") if word.startswith("step")]
        if "begun" not in promised:
            continue  # a directory without a manifest; it says so below
        expected = {"seconds": 4 * len(done_steps), "different": 4 * len(done_steps)}
        counted = "SELECT count(*) AS seconds, count(DISTINCT (step_id, second)) AS different FROM ops"
        assert reader.sql(lake, f"{counted} WHERE run_id = '{run_id}'").to_dicts() == [expected], (run_id, promised)
        steps = reader.sql(lake, f"SELECT step FROM steps WHERE run_id = '{run_id}' AND status = 'complete'")
        assert len(steps) == len(done_steps), (run_id, promised)
    without = [run_id for run_id, file in lake.sql("SELECT run_id, file FROM problems").fetchall()]
    assert 0 < len(without) < 10
    assert without == [path.name for path in sorted(workspace.runs.iterdir()) if not (path / "manifest.json").exists()]
    sealed, errors = recover_all(workspace.runs)
    assert errors == [] and len(sealed) > 20
    assert not {path.name for path in workspace.runs.iterdir()} & set(without), "in which nothing had begun"
    assert left_behind(workspace.runs) == []
    for run_dir in workspace.runs.iterdir():
        assert verify(run_dir) == [], run_dir.name
        promised = next(line[1] for line in lines if f"r{int(line[0]):03d}" == run_dir.name)
        kept = read_manifest(run_dir).files.get("ops.parquet")
        assert (kept.rows if kept else 0) == 4 * promised.count("step"), run_dir.name
