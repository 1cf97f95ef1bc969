"""The sealed form of a table: Parquet with zstd, sorted by the table's key, with statistics; written atomically.

Encodings are chosen by type, by what was measured on histograms as wide as those of real runs
(docs/benchmarks/lake_scale.md):

- whole numbers of 32 and 64 bits as differences (DELTA_BINARY_PACKED): seconds, ticks and cumulative counters;
- floating point numbers and the elements of lists with their bytes apart (BYTE_STREAM_SPLIT): the high bytes of
  neighbours are alike, and zstd then spends its bits on the low ones;
- names and small numbers by dictionary.

Columns with a `resolution` are rounded to it: finer digits are noise, and noise does not compress. Arrow's own form of
the schema is left out: Parquet's types say the same, and in a run of a minute it was 8 % of all bytes. The file's
metadata has the units.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ibench_lib.base.durable import sync_directory
from ibench_lib.schema import Table
from ibench_lib.store.manifest import FileRecord

ROW_GROUP_ROWS = 122_880

ZSTD_LEVEL = 6
"""Level 12 takes 2 % less and twice the time to write; level 3 takes 5 % more and half the time."""


def write_table(path: Path, table: Table, pieces: Iterable[pa.Table], *, level: int = ZSTD_LEVEL) -> FileRecord:
    """Write `pieces`, each sorted by the table's key, as one file: temporary file, fsync, rename, directory fsync.

    Either there is the whole file under its name or none. Row groups do not cross pieces: pieces that are steps let a
    reader skip the steps it does not want. `level` is that of zstd.

    Raises
    ------
    OSError : among others a full disk; the temporary file is removed.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    rows = 0
    try:
        with pq.ParquetWriter(temporary, table.arrow_schema, **_options(table, level)) as writer:
            for piece in pieces:
                writer.write_table(_rounded(piece.cast(table.arrow_schema), table), row_group_size=ROW_GROUP_ROWS)
                rows += piece.num_rows
            writer.add_key_value_metadata(table.file_metadata)
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


def _options(table: Table, level: int) -> dict[str, Any]:
    """Options of `pq.ParquetWriter`: an encoding for each column by its type."""
    encodings: dict[str, str] = {}
    dictionaries = []
    for column in table.columns:
        if pa.types.is_list(column.type):
            encodings[f"{column.name}.list.element"] = "BYTE_STREAM_SPLIT"
        elif pa.types.is_floating(column.type):
            encodings[column.name] = "BYTE_STREAM_SPLIT"
        elif pa.types.is_integer(column.type) and column.type.bit_width >= 32:
            encodings[column.name] = "DELTA_BINARY_PACKED"
        else:
            dictionaries.append(column.name)
    return {
        "compression": "zstd",
        "compression_level": level,
        "column_encoding": encodings,
        "use_dictionary": dictionaries,
        "write_page_checksum": True,
        "store_schema": False,
    }


def _rounded(data: pa.Table, table: Table) -> pa.Table:
    """`data` with the columns that have a resolution rounded to multiples of it."""
    import pyarrow.compute as pc  # as slow to import as a lake of a hundred runs is to open

    for position, column in enumerate(table.columns):
        if column.resolution is not None:
            steps = pc.round(pc.divide(data.column(position), column.resolution))
            data = data.set_column(position, data.schema.field(position), pc.multiply(steps, column.resolution))
    return data
