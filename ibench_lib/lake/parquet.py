"""The sealed form of a table: Parquet with zstd, sorted by the table's key, with statistics; written atomically."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ibench_lib.lake.manifest import FileRecord, sync_directory
from ibench_lib.schema import Table

ROW_GROUP_ROWS = 122_880


def write_table(path: Path, table: Table, pieces: Iterable[pa.Table]) -> FileRecord:
    """Write `pieces`, each sorted by the table's key, as one file: temporary file, fsync, rename, directory fsync.

    Either there is the whole file under its name or none. Row groups do not cross pieces.

    Raises
    ------
    OSError : among others a full disk; the temporary file is removed.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    rows = 0
    try:
        with pq.ParquetWriter(temporary, table.arrow_schema, compression="zstd") as writer:
            for piece in pieces:
                writer.write_table(piece.cast(table.arrow_schema), row_group_size=ROW_GROUP_ROWS)
                rows += piece.num_rows
        with open(temporary, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
            size = file.seek(0, os.SEEK_END)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)
    return FileRecord(rows=rows, bytes=size, sha256=digest)
