"""A kernel that was started early: it runs notebooks, leaves nothing behind, and its end is noticed."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import psutil
import pytest
from nbclient.exceptions import DeadKernelError

from ibench_lib.base.process_state import is_stopped
from ibench_lib.paths import Workspace
from ibench_lib.publish import execution
from ibench_lib.publish.execution import NotebookStopped, run_notebook
from ibench_lib.publish.expected import expect_questions, remember_questions
from ibench_lib.publish.kernel import AHEAD_NAME, Kernel, connection_file, started_kernel
from tests.faults import survivors
from tests.waiting import until

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


def stopped_by(kernel: Kernel, number: int) -> Callable[[int, int], None]:
    """Stops a kernel when the cell of that number begins."""

    def act(cell: int, _of: int) -> None:
        if cell == number:
            kernel.process.send_signal(signal.SIGSTOP)
            until(lambda: is_stopped(kernel.process.pid), "the kernel is stopped")

    return act


def test_a_kernel_that_is_stopped_for_a_while_goes_on_where_it_was(tmp_path: Path) -> None:
    source = notebook(tmp_path, "number = 1", "number += 1", "print(number)")
    with started_kernel(tmp_path) as kernel:
        stop = stopped_by(kernel, 3)

        def progress(cell: int, of: int) -> None:
            stop(cell, of)
            if cell == 3:
                threading.Timer(2, kernel.process.send_signal, [signal.SIGCONT]).start()

        ran = run_notebook(source, tmp_path / "ran.ipynb", {"number": 1}, kernel, progress)
    assert ran.cells[-1].outputs[0].text.split() == ["2"]


@pytest.mark.parametrize(("cell", "where"), [(0, "before the first of its 3 cells"), (3, "in cell 3 of 3")])
def test_a_kernel_that_stays_stopped_is_named_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: int, where: str
) -> None:
    source = notebook(tmp_path, "number = 1", "print(number)")
    with started_kernel(tmp_path) as kernel:
        process = psutil.Process(kernel.process.pid)
        if cell == 0:
            monkeypatch.setattr(execution, "START_S", 1)
            stopped_by(kernel, 0)(0, 0)
        monkeypatch.setattr(execution, "CELL_S", 2)
        with pytest.raises(
            NotebookStopped, match=rf"stopped {where}: .*; the process of its kernel was stopped"
        ) as said:
            run_notebook(source, tmp_path / "ran.ipynb", {"number": 1}, kernel, stopped_by(kernel, cell))
    assert "\n" not in said.value.what and not process.is_running()


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


ORPHAN = """
import os, signal, sys
from pathlib import Path
from ibench_lib.publish.kernel import started_kernel
with started_kernel(Path(sys.argv[1])) as kernel:
    print(kernel.process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_it_ends_with_a_builder_that_is_killed_while_it_starts(tmp_path: Path, adopting: None) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", ORPHAN, str(tmp_path)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as builder:
        assert builder.stdout is not None
        kernel = psutil.Process(int(builder.stdout.readline()))
        assert builder.wait() == -signal.SIGKILL
    try:
        assert survivors([kernel]) == []
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            kernel.kill()


@pytest.fixture
def adopting() -> Iterator[None]:
    """Orphans become children of this process, as they do below a user's systemd: the parent is not process 1."""
    libc = ctypes.CDLL(None)
    libc.prctl(36, 1, 0, 0, 0)
    yield
    libc.prctl(36, 0, 0, 0, 0)
