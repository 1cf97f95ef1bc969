"""What is read out of a stored notebook."""

import json
from pathlib import Path

import nbformat
import pytest

from ibench_lib import paths
from ibench_lib.publish.notebook import asks, read_notebook, sections


def stored(path: Path, minor: int, **more: str) -> Path:
    """A notebook with a section, of that minor version of nbformat 4."""
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "# Mine", **more},
        {"cell_type": "markdown", "metadata": {}, "source": "## Rates", **more},
    ]
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": minor, "metadata": {}, "cells": cells}))
    return path


def test_cells_of_an_older_notebook_get_ids_by_their_places(tmp_path: Path) -> None:
    for minor in (0, 2, 4):
        notebook = read_notebook(stored(tmp_path / "old.ipynb", minor))
        assert sections(notebook) == ["cell-2"]
        nbformat.validate(notebook)  # type: ignore[no-untyped-call]


def test_ids_that_are_there_stay(tmp_path: Path) -> None:
    path = tmp_path / "new.ipynb"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("## Rates", id="rates")])  # type: ignore[no-untyped-call]
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]
    assert sections(read_notebook(path)) == ["rates"]


@pytest.mark.parametrize(
    ("said", "read"), [(["steps", 1, "sla", None], ["steps", "sla"]), ("steps", []), ({"steps": 1}, []), (None, [])]
)
def test_what_a_notebook_says_it_asks_is_names_or_nothing(said: object, read: list[str]) -> None:
    assert asks(nbformat.v4.new_notebook(metadata={"asks": said})) == read  # type: ignore[no-untyped-call]


def test_prose_for_every_page_claims_nothing_that_depends_on_the_runs() -> None:
    """In the sample, a limit on purge lag makes a step faster, and a full redo log makes no transaction wait."""
    prose = {
        name: " ".join(cell.source for cell in read_notebook(paths.workspace().notebook(name)).cells)
        for name in ("purge_lag", "mvcc_gc", "tpcc_stability")
    }
    assert "What a limit costs" not in prose["purge_lag"]
    assert "A long history that a step leaves behind slows" in prose["mvcc_gc"]
    assert "transactions may have to wait for that flushing" in prose["tpcc_stability"]
