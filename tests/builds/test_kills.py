"""MySQL 9.7 and 5.6 under the kills that tests/runner and tests/measurement try on the distribution's MariaDB.

Needs the builds of test_builds.py.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.soak import TINY, Rows, checks, seen
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from tests.builds.test_builds import installed, lake
from tests.command import PROGRAM, ibench
from tests.faults import Victim, is_client, is_server, survivors
from tests.waiting import PATIENCE_S, until

__all__ = ["lake"]  # a fixture

pytestmark = pytest.mark.registries

# The inserts of l.i1 would take minutes: whenever a kill comes, it is in this step.
EXPERIMENT = """
title: a client, then the server, then the runner are killed
builds: [%s]
configs: [{name: tiny, fragments: [tiny]}]
configs_folder: own
repeats: 3
setups: [{name: tiny, l_i0_rows: 200000, l_i1_rows: 60000000, l_i2_rows: 1000, query_seconds: 1}]
scale: 0.01
workload: {benchmark: insert_benchmark, clients: 1, steps: [l.i0, {step: l.i1, rate: 1000}]}
"""
L_I1 = 1
"""Its id: the first step has 0."""
KILLED = {
    "client": r"step l\.i1: client 1 \w+: died: killed by SIGKILL",
    "server": r"step l\.i1: the server died",
    "runner": r"the runner died",
}


@pytest.mark.fault("F1")
@pytest.mark.fault("F2")
@pytest.mark.fault("F3")
@pytest.mark.parametrize("label", ["mysql-9.7", "mysql-5.6.24"])
def test_what_is_killed_in_a_step_is_named_nothing_is_lost_and_the_rest_is_recovered(
    label: str, lake: Workspace, tmp_path: Path
) -> None:
    installed(label)
    path = tmp_path / "killed.yaml"
    path.write_text(EXPERIMENT % label)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "tiny.cnf").write_text(TINY)
    command = [sys.executable, "-c", PROGRAM, "run", str(path)]
    environment = {**os.environ, "IBENCH_HOME": str(lake.root), "COLUMNS": "200"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    runner, families = Victim(process.pid), []
    before: dict[str, Rows] = {}

    def under_way() -> tuple[str, Rows] | None:
        """The newest run, once two seconds of l.i1 can be read."""
        for run_id, rows in seen(lake.root).items():
            if run_id not in before and len({key[3] for key in rows if key[0] == L_I1}) >= 2:
                return run_id, rows
        return None

    try:
        for killed in KILLED:
            run_id, before[run_id] = until(under_way, f"l.i1 goes on, before the {killed} is killed", every_s=0.2)
            family = runner.family()
            families += family
            victims = {
                "client": next(filter(is_client, family)),
                "server": next(filter(is_server, family)),
                "runner": runner.process,
            }
            victims[killed].kill()
        said = process.communicate(timeout=PATIENCE_S)[0]
    finally:
        process.kill()
    assert process.returncode == -9 and survivors(families) == []

    known = reader.sql(reader.lake(lake), "SELECT * FROM runs ORDER BY run_id").to_dicts()
    assert [run["status"] for run in known] == ["failed"] * 3
    for run, error in zip(known, KILLED.values(), strict=True):
        assert re.search(error, run["error"]), run["error"]
        assert label.removeprefix("mysql-") in run["server_version"]
    assert all(re.search(KILLED[killed], said) for killed in ("client", "server")), said
    after = seen(lake.root)
    assert all(rows.items() <= after[run_id].items() for run_id, rows in before.items())

    assert ibench(lake, "runs", "recover").returncode == 0
    assert checks(lake.root, before, gone=False) == []
    assert [read_manifest(lake.run_dir(run_id)).status for run_id in before] == ["failed"] * 3
