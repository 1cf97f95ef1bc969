"""Notebooks for kernels."""

from __future__ import annotations

from pathlib import Path

import nbformat


def notebook(folder: Path, *sources: str) -> Path:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    cells[0].metadata["tags"] = ["parameters"]
    path = folder / "own.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path
