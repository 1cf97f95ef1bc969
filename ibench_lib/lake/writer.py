"""Writes a run directory: tables as Parquet, then the manifest that vouches for them.

Rows are held in memory and a table's file is replaced as a whole at the end of each step, by temporary file and atomic
rename: a reader sees the old or the new file, and a dead runner leaves every finished step behind.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ibench_lib.errors import LakeError
from ibench_lib.lake.manifest import FileRecord, Manifest, sync_directory, write_atomically, write_manifest
from ibench_lib.schema import TABLES


class RunWriter:
    """The one writer of one run directory. Creating it creates the directory and refuses one that exists."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self._rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
        self._dirty: set[str] = set(TABLES)
        self._files: dict[str, FileRecord] = {}
        run_dir.parent.mkdir(parents=True, exist_ok=True)
        try:
            run_dir.mkdir()
        except FileExistsError:
            raise LakeError(f"run {run_dir.name} exists already", hint="a run is never overwritten") from None
        sync_directory(run_dir.parent)

    def append(self, table: str, **row: Any) -> None:
        """Add one row; `run_id` is filled in."""
        self._rows[table].append({"run_id": self.run_dir.name, **row})
        self._dirty.add(table)

    def flush(self) -> None:
        """Bring every table's file up to date."""
        for name in sorted(self._dirty):
            self._write(name)
        self._dirty.clear()

    def seal(self, manifest: Manifest) -> None:
        """Flush, then write the manifest with the record of every file. The last act of a run."""
        self.flush()
        manifest.files = dict(self._files)
        write_manifest(self.run_dir, manifest)

    def _write(self, name: str) -> None:
        table = TABLES[name]
        rows = sorted(self._rows[name], key=lambda row: tuple(row[column] for column in table.key))
        data = pa.Table.from_pylist(rows, schema=table.arrow_schema)
        for column in table.columns:
            # Arrow does not hold `nullable=False` against the data by itself.
            if not column.nullable and data.column(column.name).null_count:
                raise LakeError(f"run {self.run_dir.name}: {name}.{column.name} has NULLs and may not")
        buffer = io.BytesIO()
        pq.write_table(data, buffer, compression="zstd")
        content = buffer.getvalue()
        write_atomically(self.run_dir / table.file_name, content)
        digest = hashlib.sha256(content).hexdigest()
        self._files[table.file_name] = FileRecord(rows=len(rows), bytes=len(content), sha256=digest)
