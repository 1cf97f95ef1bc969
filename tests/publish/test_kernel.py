"""A kernel that was started early: it runs notebooks, leaves nothing behind, and its end is noticed."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import nbformat
import psutil
import pytest
from nbclient.exceptions import DeadKernelError

from ibench_lib.paths import Workspace
from ibench_lib.publish.execution import NotebookStopped, run_notebook
from ibench_lib.publish.expected import expect_questions, remember_questions
from ibench_lib.publish.kernel import AHEAD_NAME, connection_file, started_kernel

pytestmark = pytest.mark.slow


def notebook(folder: Path, *sources: str) -> Path:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    cells[0].metadata["tags"] = ["parameters"]
    path = folder / "own.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_it_runs_in_its_own_directory_with_the_lake_of_its_workspace(tmp_path: Path) -> None:
    source = notebook(tmp_path, "number = 1", "import os; print(number, os.getcwd(), os.environ['IBENCH_HOME'])")
    with started_kernel(tmp_path) as kernel:
        assert stat.S_IMODE(kernel.private.stat().st_mode) == 0o700
        assert json.loads(connection_file(kernel.private).read_text())["transport"] == "ipc"
        ran = run_notebook(source, tmp_path / "ran.ipynb", {"number": 2}, kernel)
        assert ran.cells[-1].outputs[0].text.split() == ["2", str(kernel.private), str(tmp_path)]
        process = psutil.Process(kernel.process.pid)
    assert not kernel.private.exists() and not process.is_running()


def test_a_kernel_that_dies_stops_the_notebook(tmp_path: Path) -> None:
    source = notebook(tmp_path, "number = 1", "import os; os.kill(os.getpid(), 9)")
    with started_kernel(tmp_path) as kernel, pytest.raises(NotebookStopped, match="stopped in cell 3 of 3") as stopped:
        run_notebook(source, tmp_path / "ran.ipynb", {"number": 2}, kernel)
    assert isinstance(stopped.value.__cause__, DeadKernelError)


def test_what_a_notebook_asked_is_expected_of_the_next_kernel(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.data.mkdir()
    evidence = "".join(f'<details class="question" id="evidence.{name}">' for name in ("steps", "sla", "steps-2"))
    output = nbformat.v4.new_output("display_data", {"text/html": evidence})
    ran = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=[output])])
    with started_kernel(tmp_path) as kernel:
        expect_questions(kernel, workspace, "own")
        assert not (kernel.private / AHEAD_NAME).exists()
        remember_questions(ran, workspace, "own")
        expect_questions(kernel, workspace, "own")
        assert json.loads((kernel.private / AHEAD_NAME).read_text()) == ["steps", "sla"]
