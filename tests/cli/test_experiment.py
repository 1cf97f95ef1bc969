"""`ibench experiment`: checks and plans before anything runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ibench_lib.paths import Workspace
from ibench_lib.servers.build import Build
from tests.cli.tiny import write
from tests.command import PROGRAM, ibench, refused, watched
from tests.places import ROOT


def test_check_has_a_row_for_cells_that_differ_in_their_repeat_only(build: Build, workspace: Workspace) -> None:
    path = write(workspace)
    path.write_text(path.read_text().replace("scale: 0.01", "scale: 0.01\nrepeats: 3"))
    first, *others = ibench(workspace, "experiment", "check", str(path)).stdout.splitlines()[1:]
    assert " ".join(first.split()).startswith("1, 2, 3 system.cy10a, tiny, repeats 1, 2, 3 ")
    assert others[0].startswith("3 cells, about ")


def test_check_and_plan_say_who_shares_a_snapshot_and_why_others_do_not(build: Build, workspace: Workspace) -> None:
    path = write(workspace, steps="l.i0, l.x, l.i1")
    (workspace.root / "conf").mkdir()
    for name, line in (("small", "innodb_buffer_pool_size=24M"), ("p8", "innodb_page_size=8K")):
        (workspace.root / "conf" / f"{name}.cnf").write_text(f"[mysqld]\n{line}\n")
    configs = "\n".join(f"  - {{name: {name}, fragments: [{name}]}}" for name in ("small", "p8"))
    head, _, rest = path.read_text().partition("configs:")
    rest = rest[rest.index("setups:") :]
    path.write_text(
        f"{head}configs_folder: conf\nsnapshot_after: l.x\nrepeats: 2\norder: interleaved\nconfigs:\n{configs}\n{rest}"
    )
    checked = ibench(workspace, "experiment", "check", str(path)).stdout
    apart = "not from the snapshot of cell 1: innodb_page_size is 8192, there 16384"
    assert f"snapshot for cells 1, 3\nsnapshot for cells 2, 4, {apart}\n" in checked
    planned = ibench(workspace, "experiment", "plan", str(path)).stdout
    said = [" ".join(line.split()) for line in planned.splitlines()]
    assert [line.partition(" run ")[2] for line in said[1:5]] == [
        "loads data, shared by cell 3",
        f"loads data, shared by cell 4; {apart}",
        "from the snapshot of cell 1",
        "from the snapshot of cell 2",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("experiment", ["demo", "tpcc_small", "command_small"])
def test_plan_imports_nothing_that_reads_runs_and_asks_a_server_for_its_version_only(
    experiment: str, workspace: Workspace, tmp_path: Path
) -> None:
    """Its time is that of its imports and of the processes of servers, of which each takes 20 to 50 ms."""
    server = tmp_path / "basedir" / "bin" / "mariadbd"
    server.parent.mkdir(parents=True)
    server.write_text("#!/bin/sh\necho 'mariadbd  Ver 10.11.19-MariaDB for Linux on x86_64 (source)'\n")
    server.chmod(0o755)
    file = str(ROOT / "experiments" / f"{experiment}.yaml")
    modules, started = watched(workspace, "experiment", "plan", file, IBENCH_BASEDIR=str(server.parents[1]))
    assert "ibench_lib.runner.plan" in modules
    not_needed = {"cryptography", "duckdb", "numpy", "polars", "psutil", "pyarrow", "pymysql", "rich.progress"}
    assert (not_needed | {"ibench_lib.servers.sandbox"}) & modules == set()
    assert started == [[str(server), "--no-defaults", "--version"]]


def test_check_asks_the_server_what_plan_does_not(build: Build, workspace: Workspace) -> None:
    path = write(workspace)
    (workspace.root / "conf").mkdir()
    (workspace.root / "conf" / "odd.cnf").write_text("[mysqld]\nno_such_option=1\n")
    path.write_text(
        path.read_text()
        .replace("fragments: [cy10a]", "fragments: [odd]")
        .replace("scale:", "configs_folder: conf\nscale:")
    )
    assert "1 of 1 cell to run" in ibench(workspace, "experiment", "plan", str(path)).stdout
    refused(ibench(workspace, "experiment", "check", str(path)), "does not know no_such_option")


def test_a_missing_experiment_file(workspace: Workspace) -> None:
    write(workspace)
    command = [sys.executable, "-c", PROGRAM, "run", str(workspace.root / "tniy.yaml")]
    environment = {**os.environ, "IBENCH_HOME": str(workspace.root), "COLUMNS": "200"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    refused(result, "tniy.yaml: no such file", "tiny.yaml")


def test_a_name_without_its_file_is_told_the_file(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace.root)
    (workspace.root / "experiments").mkdir()
    write(workspace, "experiments/qa.yaml")
    for command in (["run", "qa"], ["experiment", "check", "qa"]):
        refused(ibench(workspace, *command), "qa: an experiment is a .yaml file", "did you mean experiments/qa.yaml?")
    refused(ibench(workspace, "run", "other"), "other: an experiment is a .yaml file", "such as experiments/demo.yaml")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("scale: 0.01", "scael: 0.01", ["tiny.yaml:7: unknown key 'scael'; did you mean 'scale'?"]),
        ("clients: 2", "clients: 0", ["tiny.yaml:8: workload.clients: should be greater than or equal to 1, not 0"]),
        ("[l.i0, l.x]", "[l.i0, l.y]", ["tiny.yaml:8: workload.steps: unknown step 'l.y'", "qr100"]),
        ("[system]", "[sytem]", ["no server build is called sytem", "did you mean system?"]),
        ("fragments: [cy10a]", "fragments: [cy10b]", ["no configuration 'cy10b'", "cy10a"]),
    ],
)
@pytest.mark.fault("F21")
def test_mistakes_in_an_experiment(build: Build, workspace: Workspace, old: str, new: str, words: list[str]) -> None:
    path = write(workspace)
    path.write_text(path.read_text().replace(old, new))
    refused(ibench(workspace, "run", str(path)), *words)
    assert not workspace.runs.exists(), "nothing was started"
