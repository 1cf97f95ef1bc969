"""`ibench init` and `ibench lab`, and what a wheel has where there is no checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import PROJECT_MARK, Workspace
from ibench_lib.publish.post_file import check_posts
from tests.command import PROGRAM, ibench, refused
from tests.places import ROOT
from tests.shared import give_views
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_init_makes_a_project_whose_files_can_be_used(workspace: Workspace) -> None:
    folder = workspace.root / "mine"
    said = ibench(workspace, "init", str(folder)).stdout
    made = files(folder)
    assert f"{len(made)} new files\n" in said
    assert {PROJECT_MARK, "README.md", "experiments/demo.yaml", "notebooks/explore.ipynb"} <= made.keys()
    assert not any("sample" in name for name in made) and sum(name.endswith(".ipynb") for name in made) == 1
    assert "experiments/command/counter.py" in made, "command_small.yaml runs it"
    for experiment in (folder / "experiments").glob("*.yaml"):
        assert load_experiment(experiment).cells()
    assert check_posts([folder / "papermill_params"], Workspace(folder))


def test_init_never_overwrites_and_can_add_the_notebooks(workspace: Workspace) -> None:
    folder = workspace.root
    (folder / "README.md").write_text("mine")
    ibench(workspace, "init", str(folder))
    before = files(folder)
    assert before["README.md"] == b"mine"
    said = ibench(workspace, "init", str(folder), "--notebooks").stdout
    after = files(folder)
    assert before.items() <= after.items() and f", {len(before)} existing files kept\n" in said
    assert {path.name for path in (folder / "notebooks").iterdir()} == {
        path.name for path in (ROOT / "notebooks").glob("*.ipynb")
    }
    refused(ibench(workspace, "init", str(folder / "README.md")), "is not a folder")


def test_the_notebook_of_a_project_speaks_of_nothing_that_only_a_checkout_has(workspace: Workspace) -> None:
    ibench(workspace, "init", str(workspace.root))
    cells = json.loads((workspace.notebooks / "explore.ipynb").read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells)
    assert "ibench run experiments/demo.yaml" in text and (workspace.root / "experiments" / "demo.yaml").is_file()
    for word in ("make ", "docs/", "data/sample", "ibench_lib/"):
        assert word not in text, word
    code = [line for cell in cells if cell["cell_type"] == "code" for line in cell["source"]]
    assert not any("contents()" in line for line in code), "a table of ten screens in the middle"


def test_lab_opens_the_projects_notebook_with_the_project_as_its_root(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused(ibench(workspace, "lab"), "explore.ipynb does not exist", "ibench init")
    ibench(workspace, "init", str(workspace.root))
    started: list[Any] = []
    monkeypatch.setattr(os, "execv", lambda program, command: started.extend([program, command]))
    assert ibench(workspace, "lab").returncode == 0
    program, command = started
    assert program == sys.executable and command[:4] == [sys.executable, "-P", "-m", "jupyterlab"]
    assert f"--ServerApp.root_dir={workspace.root}" in command
    assert "--LabApp.default_url=/lab/tree/notebooks/explore.ipynb" in command
    assert not any("port" in word for word in command), "the next one that is free"
    assert ibench(workspace, "lab", "--port", "8890").returncode == 0
    assert "--ServerApp.port=8890" in started[-1] and "--ServerApp.port_retries=0" in started[-1]
    refused(ibench(workspace, "lab", "--port", "0"), "--port")


@pytest.mark.long
def test_a_wheel_builds_a_post_without_a_checkout(tmp_path: Path) -> None:
    """The wheel is unpacked into a folder of its own, and the commands run in a subfolder of a project."""
    build = "import sys, hatchling.build; print(hatchling.build.build_wheel(sys.argv[1]))"
    built = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    with zipfile.ZipFile(tmp_path / built.stdout.split()[-1]) as wheel:
        wheel.extractall(tmp_path / "site")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("IBENCH_")}
    environment |= {"PYTHONPATH": str(tmp_path / "site"), "IBENCH_AUTHOR": "A. Tester"}

    def run(folder: Path, *arguments: str) -> str:
        return subprocess.run(
            [sys.executable, "-P", "-c", PROGRAM, *arguments],
            cwd=folder, env=environment, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip

    project = tmp_path / "project"
    run(tmp_path, "init", "project")
    write_runs(Workspace(project), Run())
    give_views(Workspace(project))
    written = run(project / "notebooks", "post", "--experiment", "demo", "--notebook", "purge_lag")
    assert (project / "data" / "posts" / "demo-purge-lag" / "index.html").is_file(), written
    again = run(project, "post", "papermill_params/purge_lag/demo.yml")
    assert str(ROOT) not in written + again
    path = project / "papermill_params" / "waits" / "demo.yml"
    assert not path.exists()
    said = run(project, "post", "new", "demo", "--notebook", "waits")
    assert said.splitlines() == [f"wrote {path}", f"next: ibench post {path}"]
    assert 'slug: "demo-waits"' in path.read_text() and not (project / "data" / "posts" / "demo-waits").exists()
