"""A notebook whose kernel dies or stands still."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode

from ibench_lib.base.process_state import is_stopped
from ibench_lib.publish import execution
from ibench_lib.publish.execution import NotebookStopped, run_notebook
from ibench_lib.publish.kernel import Kernel, started_kernel
from tests.publish.kernels import notebook
from tests.waiting import until

pytestmark = pytest.mark.slow


def test_a_kernel_that_dies_stops_the_notebook(tmp_path: Path) -> None:
    source = notebook(tmp_path, "number = 1", "import os; os.kill(os.getpid(), 9)")
    with started_kernel(tmp_path) as kernel, pytest.raises(NotebookStopped, match="stopped in cell 3 of 3") as stopped:
        run_notebook(source, tmp_path / "ran.ipynb", {"number": 2}, kernel)
    assert isinstance(stopped.value.__cause__, DeadKernelError)


def test_a_kernel_that_dies_before_it_answers_is_named(tmp_path: Path) -> None:
    source = notebook(tmp_path, "number = 1")
    with started_kernel(tmp_path, waits=True) as kernel:
        threading.Timer(1.5, kernel.process.kill).start()  # meanwhile it is asked again and again
        with pytest.raises(NotebookStopped, match=r"before the first of its 2 cells: .*ended before") as stopped:
            run_notebook(source, tmp_path / "ran.ipynb", {}, kernel)
    assert isinstance(stopped.value.__cause__, RuntimeError)


def test_a_kernel_that_is_asked_before_it_can_answer_loses_nothing(tmp_path: Path) -> None:
    source = notebook(tmp_path, "number = 1", "print(number)")
    with started_kernel(tmp_path, waits=True) as kernel:
        threading.Timer(2.5, kernel.open_lake).start()  # it answers from then on, to all who have asked
        ran = run_notebook(source, tmp_path / "ran.ipynb", {"number": 2}, kernel)
    assert [output.text for cell in ran.cells for output in cell.outputs] == ["2\n"]


def test_cells_are_handed_on_with_their_outputs_as_soon_as_they_have_run(tmp_path: Path) -> None:
    source = notebook(tmp_path, "number = 1", "print('first')", "print('second')")
    seen = list[tuple[int, list[str]]]()
    with started_kernel(tmp_path) as kernel:
        at = [0]

        def progress(cell: int, _of: int) -> None:
            at[0] = cell

        def cell_ran(cell: NotebookNode) -> None:
            seen.append((at[0], [output.text for output in cell.outputs]))

        run_notebook(source, tmp_path / "ran.ipynb", {"number": 2}, kernel, progress, cell_ran)
    assert seen == [(1, []), (2, []), (3, ["first\n"]), (4, ["second\n"])]


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
