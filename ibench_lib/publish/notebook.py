"""What is read out of a notebook: before anything of it is run, and what its cells have shown."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from ibench_lib.errors import ParameterError
from ibench_lib.show.kit.pieces import RUNS_MIME

_WITH_IDS = 5
"""The minor version of nbformat 4 from which on cells have ids."""


def read_notebook(path: Path) -> NotebookNode:
    """The notebook in a file. Raises whatever makes it unreadable.

    Cells have ids since nbformat 4.5: those of an older notebook get one by their places.
    """
    notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    if notebook.nbformat_minor < _WITH_IDS:
        notebook.nbformat_minor = _WITH_IDS
        for place, cell in enumerate(notebook.cells, 1):
            cell.setdefault("id", f"cell-{place}")
    return notebook


def write_notebook(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook to a file, as JSON in one line: nbformat's own way puts every number of a chart on a line."""
    path.write_text(json.dumps(notebook, ensure_ascii=False, sort_keys=True), encoding="utf-8")


def text_cell(source: str) -> NotebookNode:
    """A new cell of Markdown."""
    cell: NotebookNode = nbformat.v4.new_markdown_cell(source)  # type: ignore[no-untyped-call]
    return cell


def tags(cell: NotebookNode) -> list[str]:
    """The tags of a cell."""
    return list(cell.metadata.get("tags", []))


def is_section(cell: NotebookNode) -> bool:
    """Whether a markdown cell opens a section: it begins with `## `, and the page shows it."""
    return cell.cell_type == "markdown" and cell.source.startswith("## ") and "remove-cell" not in tags(cell)


def sections(notebook: NotebookNode) -> list[str]:
    """Ids of the notebook's sections."""
    return [cell.id for cell in notebook.cells if is_section(cell)]


def parameters(notebook: NotebookNode, name: str) -> dict[str, Any]:
    """Names and default values of a notebook's one cell tagged `parameters`. No code is run.

    Raises
    ------
    ParameterError : no such cell, several, or something in it that is not a literal.
    """
    cells = [cell for cell in notebook.cells if "parameters" in tags(cell)]
    if len(cells) != 1:
        raise ParameterError(f"{name}: {len(cells)} cells are tagged `parameters`, there must be one")
    defaults: dict[str, Any] = {}
    try:
        for statement in ast.parse(cells[0].source).body:
            if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                raise ValueError("only `name = literal` may stand there")
            target = statement.targets[0]
            if not isinstance(target, ast.Name):
                raise ValueError("only `name = literal` may stand there")
            defaults[target.id] = ast.literal_eval(statement.value)
    except (SyntaxError, ValueError) as error:
        raise ParameterError(f"{name}: the cell tagged `parameters`: {error}") from error
    return defaults


def asks(notebook: NotebookNode) -> list[str]:
    """The questions that a notebook says it asks, in its order: `asks` in its metadata, which it may leave out."""
    said = notebook.metadata.get("asks")
    return [name for name in said if isinstance(name, str)] if isinstance(said, list) else []


def shown(notebook: NotebookNode, kind: str) -> list[Any]:
    """What an executed notebook says that it has shown, in its order: `runs`, or the names of `questions` it asked."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    return [each for output in outputs for each in output.get("data", {}).get(RUNS_MIME, {}).get(kind, [])]
