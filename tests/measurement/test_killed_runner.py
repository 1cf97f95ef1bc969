"""F2: a runner killed by 9. What it had captured is there but for a second, and its experiment goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ibench_lib.paths import Workspace
from ibench_lib.servers.build import Build
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from ibench_lib.store.verify import verify
from tests.faults import Victim, survivors
from tests.runner.test_cell import tells_nothing
from tests.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.lake, pytest.mark.timing]

# 70,000 rows at 10,000 a second: seven seconds, of which the first runner lives to see between three and five.
EXPERIMENT = """
title: a runner to be killed
builds: [system]
configs: [{name: tiny, fragments: [cy10a]}]
setups: [{name: tiny, l_i0_rows: 2000000, l_i1_rows: 7000000, l_i2_rows: 1000, query_seconds: 1}]
scale: 0.01
workload: {benchmark: insert_benchmark, clients: 2, steps: [l.i0, l.x, {step: l.i1, rate: 10000}]}
"""


@pytest.mark.long
@pytest.mark.fault("F2")
def test_f2_a_runner_killed_by_9_loses_a_second_and_the_experiment_goes_on(
    build: Build, workspace: Workspace, tmp_path: Path
) -> None:
    path = tmp_path / "killed.yaml"
    path.write_text(EXPERIMENT)
    script = "from ibench_lib.cli.main import main; main()"

    def start() -> subprocess.Popen[bytes]:
        environment = {**os.environ, "IBENCH_HOME": str(workspace.root)}
        return subprocess.Popen([sys.executable, "-c", script, "run", str(path)], env=environment)

    process = start()
    seconds = "SELECT count(DISTINCT second) FROM ops WHERE step = 'l.i1'"
    until(lambda: reader.sql(reader.lake(workspace), seconds).item() >= 3, "l.i1 has made three seconds", every_s=0.2)
    runner = Victim(process.pid)
    children = runner.family()
    assert len(children) >= 5, "server and four clients"
    (run_dir,) = workspace.runs.iterdir()
    killed_s = _age_s(run_dir)
    runner.kill()
    process.wait()
    assert survivors(children) == []
    lake = reader.lake(workspace)
    (known,) = reader.sql(lake, "SELECT status, error FROM runs").to_dicts()
    assert known["status"] == "failed" and "the runner died" in known["error"]
    steps = dict(reader.sql(lake, "SELECT step, status FROM steps").rows())
    assert steps == {"l.i0": "complete", "l.x": "complete", "l.i1": "failed"}
    assert read_manifest(run_dir).status == "running", "nobody was left to say otherwise"
    last = reader.sql(lake, "SELECT min(n) FROM (SELECT max(second) AS n FROM ops WHERE step = 'l.i1' GROUP BY worker)")
    elapsed_s = killed_s - reader.sql(lake, "SELECT start_s FROM steps WHERE step = 'l.i1'").item()
    # The second under way is not whole yet, and the one before may wait for the next flush.
    assert last.item() + 1 >= elapsed_s - 2.5, (last, elapsed_s)
    again = start()
    assert again.wait(timeout=PATIENCE_S) == 0
    runs = reader.sql(reader.lake(workspace), "SELECT status, error FROM runs ORDER BY run_id").to_dicts()
    assert [row["status"] for row in runs] == ["failed", "complete"]
    assert "sealed from its journal" in runs[0]["error"]
    assert tells_nothing(workspace)
    assert all(verify(path) == [] for path in workspace.runs.iterdir())


def _age_s(run_dir: Path) -> float:
    """Seconds since the zero of a run's clock."""
    origin = datetime.fromisoformat(read_manifest(run_dir).origin_wall)
    return (datetime.now(UTC) - origin).total_seconds()
