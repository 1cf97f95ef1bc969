"""What an importer hands over: rows one by one, whether they are rows or columns, and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from ibench_lib.importers.importer import ImportedRun


def rows_of(run: ImportedRun, table: str) -> Iterator[dict[str, Any]]:
    """All rows of a table."""
    yield from map(dict, run.rows.get(table, ()))
    for piece in run.columns.get(table, ()):
        for number in range(piece.rows):
            values = {
                name: value[number].as_py()
                if isinstance(value, pa.Array)
                else value[number].item()
                if hasattr(value, "dtype")
                else value
                for name, value in piece.values.items()
            }
            yield {"step": piece.step, **values}


def only(run: ImportedRun, table: str) -> dict[str, Any]:
    """The one row of a table."""
    (row,) = rows_of(run, table)
    return row


def remarks(run: ImportedRun) -> list[str]:
    """The warnings of a run, as people read them."""
    return [f"{remark.file}:{remark.line}: {remark.text}" for remark in run.warnings]
