"""What tests of posts share: a post's YAML, a workspace with the notebooks, and a kernel that runs many of them."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import tempfile
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from papermill.iorw import load_notebook_node  # type: ignore[import-untyped]
from papermill.parameterize import parameterize_notebook  # type: ignore[import-untyped]
from ruamel.yaml import YAML

from ibench_lib.paths import Workspace
from ibench_lib.publish import page
from ibench_lib.publish.kernel import started_kernel
from tests.places import ROOT
from tests.shared import give_views

HOSTILE = (
    "<script>window.hit=1</script>\"><img src=x onerror='window.hit=1'></title>{{ 1 }} ${1} %{y}'; DROP TABLE runs; --"
)

VALUES: dict[str, Any] = {
    "notebook": "insert_benchmark",
    "slug": "demo",
    "title": "Purge lag",
    "author": "A. Tester",
    "date": "2026-11-21",
    "tldr": ["One **bold** claim", "and `code`"],
    "notes": {"purge-lag": "A note on purge."},
    "parameters": {
        "experiment": "demo",
        "runs": [],
        "dbms": [],
        "setups": [],
        "steps": [],
        "base": "",
        "palette": "default",
        "points": 500,
        "exclude": [],
    },
}

TINY = """{
 "cells": [
  {"cell_type": "code", "id": "parameters", "execution_count": null, "outputs": [], "source": "word = ''",
   "metadata": {"tags": ["parameters", "remove-cell"]}},
  {"cell_type": "markdown", "id": "said", "metadata": {}, "source": "## Said"},
  {"cell_type": "code", "id": "say", "execution_count": null, "metadata": {}, "outputs": [], "source": "print(word)"}
 ],
 "metadata": {}, "nbformat": 4, "nbformat_minor": 5
}
"""


def write_yaml(path: Path, values: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        YAML(typ="safe", pure=True).dump(values, file)
    return path


def params_file(workspace: Workspace, **changes: Any) -> Path:
    return write_yaml(workspace.root / "post.yml", {**VALUES, **changes})


def tiny_post(workspace: Workspace, slug: str, source: str = "print(word)", **changes: Any) -> Path:
    """A post of a notebook of one cell, which needs no lake; `source` is what it does."""
    workspace.notebooks.mkdir(parents=True, exist_ok=True)
    notebook = json.loads(TINY)
    notebook["cells"][-1]["source"] = source
    (workspace.notebooks / f"{slug}-notebook.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    values = {
        "notebook": f"{slug}-notebook", "slug": slug, "title": f"Post {slug}", "author": "A", "date": "2026-11-21",
        "parameters": {"word": slug},
    }  # fmt: skip
    return write_yaml(workspace.root / "papermill_params" / f"{slug}.yml", {**values, **changes})


def with_notebook(root: Path) -> Workspace:
    """A workspace with the project's notebooks and no runs."""
    shutil.copytree(ROOT / "notebooks", root / "notebooks")
    return give_views(Workspace(root))


def unpacked(page: Path) -> bytes:
    """A page, or the notebook next to it, with all that is packed in it: charts, and files to save."""
    content = page.read_bytes()
    packed = (base64.b64decode(found) for found in re.findall(rb"[A-Za-z0-9+/]{40,}=*", content) if len(found) % 4 == 0)
    return content + b"".join(gzip.decompress(each) if each[:2] == b"\x1f\x8b" else each for each in packed)


class SharedKernel:
    """One kernel that runs many notebooks, one after another: starting it takes longer than most of them."""

    def __init__(self) -> None:
        self._lasting = ExitStack()
        home = self._lasting.enter_context(tempfile.TemporaryDirectory(prefix="ibench-"))
        kernel = self._lasting.enter_context(started_kernel(Path(home)))
        self._client = NotebookClient(nbformat.v4.new_notebook(), km=kernel.manager(), timeout=600)
        self._client.start_new_kernel_client()

    def run(self, path: Path, parameters: dict[str, Any], home: Path) -> NotebookNode:
        """The notebook as it ran with `parameters` on the lake of `home`. Raises CellExecutionError."""
        notebook = load_notebook_node(str(path))
        notebook = parameterize_notebook(notebook, parameters, kernel_name="python3", language="python")
        start = f"%reset -f\nimport os\nos.environ['IBENCH_HOME'] = {str(home)!r}"
        notebook.cells.insert(0, nbformat.v4.new_code_cell(start, metadata={"tags": ["remove-cell"]}))
        runner = NotebookClient(notebook, km=self._client.km, timeout=600)
        runner.kc = self._client.kc
        ran: NotebookNode = runner.execute()
        return ran

    def close(self) -> None:
        self._client._cleanup_kernel()
        self._lasting.close()


def page_of(
    kernel: SharedKernel,
    place: Workspace,
    notebook: str = "insert_benchmark",
    tldr: str | list[str] = "",
    **parameters: Any,
) -> Path:
    """A notebook's page, made by a kernel that is there already; `parameters` are others than the tests' own."""
    values = {**VALUES["parameters"], **parameters} if notebook == "insert_benchmark" else parameters
    ran = kernel.run(place.notebooks / f"{notebook}.ipynb", values, place.root)
    text = page.PageText("Purge lag", "A. Tester", date(2026, 11, 21), tldr, {})
    path = place.root / f"{notebook}.html"
    path.write_bytes(page.render(ran, text))
    return path
