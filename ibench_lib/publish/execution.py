"""A notebook run by papermill in a kernel that was started for it."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import papermill  # type: ignore[import-untyped]
from nbformat import NotebookNode
from papermill.engines import NBClientEngine, papermill_engines  # type: ignore[import-untyped]
from papermill.exceptions import PapermillExecutionError  # type: ignore[import-untyped]

from ibench_lib.base.process_state import is_stopped
from ibench_lib.publish.kernel import Kernel
from ibench_lib.publish.notebook import read_notebook, text_cell, write_notebook

Progress = Callable[[int, int], None]
"""Called for each cell that begins: (its number from 1, the number of cells)."""

START_S = 60
CELL_S = 600
"""How long a kernel may take to answer for the first time, and each cell."""

_ENGINE = "ibench"


class NotebookStopped(Exception):
    """A notebook that did not run to its end: `what` in one line, `source` of the cell, if it was a cell."""

    def __init__(self, what: str, source: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.source = source


def run_notebook(
    source: Path,
    target: Path,
    parameters: dict[str, Any],
    kernel: Kernel,
    progress: Progress | None = None,
    cell_ran: Callable[[NotebookNode], None] | None = None,
) -> NotebookNode:
    """Run a notebook with parameters in a kernel that has run nothing yet. Returns it with its outputs, not written.

    `cell_ran` is called with each cell of code that has all of its outputs.

    Raises
    ------
    NotebookStopped : a cell raised, took too long, or the kernel died. `target` then has the notebook as far as it ran;
        its first cell says what went wrong and links to where.
    """
    number = 0

    def cell_begins(cell: NotebookNode, cell_index: int) -> None:
        nonlocal number
        number = cell_index + 1
        if progress is not None:
            progress(number, total)

    def cell_executed(cell: NotebookNode, cell_index: int, execute_reply: dict[str, Any]) -> None:
        if cell_ran is not None:
            cell_ran(cell)

    ran: list[NotebookNode] = []
    manager: Any = kernel.manager()
    # papermill adds the cell with the parameters.
    total = len(read_notebook(source).cells) + 1
    try:
        papermill.execute_notebook(
            str(source),
            None,  # it would write all the outputs twice, a number of a chart a line
            parameters=parameters,
            engine_name=_ENGINE,
            kernel_name="python3",
            language="python",
            progress_bar=False,
            log_output=False,
            start_timeout=START_S,
            execution_timeout=CELL_S,
            on_cell_start=cell_begins,
            on_cell_executed=cell_executed,
            keep=ran.append,
            km=manager,
        )
    except PapermillExecutionError as error:
        write_notebook(ran[0], target)  # papermill has put what went wrong at its top
        raised = f"{error.ename}: {error.evalue}".splitlines()[0]
        raise NotebookStopped(f"cell {error.exec_count} raised {raised}", error.source) from error
    except Exception as error:
        first = (str(error).strip() or "no message").splitlines()[0]
        where = f"in cell {number} of {total}" if number else f"before the first of its {total} cells"
        what = f"the notebook stopped {where}: {type(error).__name__}: {first}"
        if manager.provisioner.was_stopped or is_stopped(kernel.process.pid):
            what += "; the process of its kernel was stopped, by a signal"
        if ran:
            _link_to_cell(ran[0], number, what)
            write_notebook(ran[0], target)
        raise NotebookStopped(what) from error
    return ran[0]


def note_failure(executed: Path, what: str) -> None:
    """Say at the top of a notebook, as plain text, what went wrong after it had run."""
    notebook = read_notebook(executed)
    notebook.cells.insert(0, text_cell(f"**This notebook did not become a post.**\n\n```\n{what}\n```"))
    write_notebook(notebook, executed)


def _link_to_cell(notebook: NotebookNode, number: int, what: str) -> None:
    """As papermill does where a cell raised: an anchor before the cell, and a link to it at the top."""
    if number:
        notebook.cells.insert(number - 1, text_cell('<span id="papermill-error-cell">It failed here:</span>'))
    link = "\n\n[Go to the cell that failed](#papermill-error-cell)" if number else ""
    notebook.cells.insert(0, text_cell(f"**This notebook failed.**\n\n```\n{what}\n```{link}"))


class _KeepsTheNotebook(NBClientEngine):  # type: ignore[misc]
    """Hands on the notebook that it runs, which papermill gives to nobody when it does not run to its end."""

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: Any, *arguments: Any, keep: Callable[[NotebookNode], None], **options: Any
    ) -> None:
        keep(nb_man.nb)
        super().execute_managed_notebook(nb_man, *arguments, **options)
        if not any(output.output_type == "error" for cell in nb_man.nb.cells for output in cell.get("outputs", [])):
            # papermill makes text of all outputs, even for no file: of a large post for longer than to render it.
            nb_man.nb = _without_outputs(nb_man.nb)


def _without_outputs(notebook: NotebookNode) -> NotebookNode:
    """The same notebook, metadata and all, but for the outputs of its cells."""
    bare = copy(notebook)
    bare.cells = [copy(cell) for cell in notebook.cells]
    for cell in bare.cells:
        if "outputs" in cell:
            cell.outputs = []
    return bare


papermill_engines.register(_ENGINE, _KeepsTheNotebook)
