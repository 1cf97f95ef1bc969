"""What a kernel writes and what it displays keeps its order, though it rarely waits for what it writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbformat import NotebookNode

from ibench_lib.publish.execution import run_notebook
from ibench_lib.publish.kernel import started_kernel
from tests.publish.kernels import notebook

pytestmark = pytest.mark.slow


def test_what_is_written_and_what_is_displayed_keeps_its_order(tmp_path: Path) -> None:
    source = notebook(
        tmp_path, "number = 1",
        "import sys\nfrom IPython.display import display\n"
        "print('a', end='')\ndisplay(1)\ndisplay(2)\nprint('b', file=sys.stderr)\ndisplay(3)\nprint('c')",
        "display(4)\nprint('d', flush=True)\nprint('e')",
    )  # fmt: skip
    with started_kernel(tmp_path) as kernel:
        ran = run_notebook(source, tmp_path / "ran.ipynb", {}, kernel)

    def said(cell: NotebookNode) -> list[str]:
        return [out.text.strip() if "text" in out else out.data["text/plain"] for out in cell.outputs]

    assert said(ran.cells[-2]) == ["a", "1", "2", "b", "3", "c"]
    assert "".join(said(ran.cells[-1])) == "4de"
