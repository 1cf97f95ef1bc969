"""Strip outputs from the stored notebooks; with --check, only name those that have some."""

import sys
from pathlib import Path
from typing import Any

import nbformat

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
# What Jupyter and papermill leave behind: it differs from machine to machine and from run to run.
NOTEBOOK_NOISE = ("papermill", "widgets")
CELL_NOISE = ("papermill", "execution", "collapsed", "scrolled", "ExecuteTime")
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def stripped(text: str) -> str:
    """The stored form of a notebook: no outputs, no execution counts, no traces of who ran it."""
    notebook: Any = nbformat.reads(text, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        for key in CELL_NOISE:
            cell.metadata.pop(key, None)
    for key in NOTEBOOK_NOISE:
        notebook.metadata.pop(key, None)
    notebook.metadata["kernelspec"] = KERNEL
    notebook.metadata["language_info"] = {"name": "python"}
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"


def unstripped(folder: Path = NOTEBOOKS) -> list[Path]:
    """Notebooks whose stored form is not their file."""
    notebooks = (path for path in sorted(folder.rglob("*.ipynb")) if ".ipynb_checkpoints" not in path.parts)
    return [
        path for path in notebooks if stripped(path.read_text(encoding="utf-8")) != path.read_text(encoding="utf-8")
    ]


def main() -> None:
    found = unstripped()
    if "--check" in sys.argv:
        for path in found:
            print(f"{path.relative_to(NOTEBOOKS.parent)}: not in its stored form; `make fix` strips it")
        sys.exit(bool(found))
    for path in found:
        path.write_text(stripped(path.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"stripped {path.relative_to(NOTEBOOKS.parent)}")


if __name__ == "__main__":
    main()
