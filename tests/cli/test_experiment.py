"""`ibench experiment`: checks and plans before anything runs."""

import os
import subprocess
import sys

import pytest

from ibench_lib.paths import Workspace
from ibench_lib.servers.build import Build
from tests.cli.tiny import write
from tests.command import PROGRAM, ibench, refused


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
