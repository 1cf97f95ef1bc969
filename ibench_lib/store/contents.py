"""Whether a Parquet file can be what its manifest and its table say, before anything is made of its rows.

A file whose checksum is right may still hold anything if somebody else wrote both. Its footer is looked at first, so
that no file decides how much memory reading takes; then its rows are read once, a batch at a time. What no ibench
writes is refused here with a reason, because a question about many runs would fail, or be wrong, by the rows of one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb

from ibench_lib.base.histogram_bins import HISTOGRAM_BINS_PER_OCTAVE
from ibench_lib.base.later import later
from ibench_lib.schema import STEPS, WORKERS, Column, Table

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from ibench_lib.store.manifest import FileRecord
else:
    pa, pq = later("pyarrow"), later("pyarrow.parquet")

_ADDED = "filename"  # by the views of the reader
_BATCH = 16_384

_MOST_ROWS = {STEPS.name: 10_000, WORKERS.name: 1_000_000}
# Sealed runs have two bytes or more for each row of their tables.
_ROWS_OF_ANY_SIZE, _ROWS_PER_BYTE = 1_000_000, 100
_MOST_COLUMNS = 1000
_MOST_BYTES_OF_A_COLUMN = 1_000_000_000
"""Of one row group, uncompressed."""
_LONGEST_NAME, _LONGEST_TEXT = 10_000, 4_000_000
_MOST_BINS = 64 * HISTOGRAM_BINS_PER_OCTAVE
_MOST = float(2**53)
"""Whole numbers up to here are exact in floating point, and their sums and differences fit into 64 bits."""


def check(file: Any, table: Table, record: FileRecord) -> pa.Schema:
    """Whether the footer of a file, open for reading, says what the manifest says, and may be read. Returns the schema.

    Raises
    ------
    ValueError, pa.ArrowException : it does not, and why.
    """
    parquet = pq.ParquetFile(file)
    footer = parquet.metadata
    if footer.num_rows != record.rows:
        raise ValueError(f"{footer.num_rows} rows, but the manifest says {record.rows}")
    most = _MOST_ROWS.get(table.name, _ROWS_OF_ANY_SIZE + _ROWS_PER_BYTE * record.bytes)
    if footer.num_rows > most:
        raise ValueError(f"{footer.num_rows} rows: a file of {record.bytes} bytes of this table has at most {most}")
    if footer.num_columns > _MOST_COLUMNS:
        raise ValueError(f"{footer.num_columns} columns: a table has at most {_MOST_COLUMNS}")
    rows = 0
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        rows += group.num_rows
        for place in range(group.num_columns):
            column = group.column(place)
            if column.total_uncompressed_size > _MOST_BYTES_OF_A_COLUMN:
                raise ValueError(f"column {column.path_in_schema:.80} takes {column.total_uncompressed_size} bytes")
            if column.num_values > max(1, group.num_rows) * _MOST_BINS:
                raise ValueError(f"column {column.path_in_schema:.80} has {column.num_values} values")
    if rows != footer.num_rows:
        raise ValueError(f"{rows} rows in its row groups, but {footer.num_rows} in its footer")
    check_columns(parquet.schema_arrow, table)
    return parquet.schema_arrow


def check_columns(found: pa.Schema, table: Table) -> None:
    """Whether a file has the columns of its table. Only those may be absent that may be NULL, or came later.

    Raises
    ------
    ValueError : a column is absent, there twice, or not of the declared type, and which one.
    """
    # DuckDB takes no notice of case, and adds a column itself.
    names = [_ADDED, *(name.lower() for name in found.names)]
    if len(set(names)) < len(names):
        ((name, _),) = Counter(names).most_common(1)
        raise ValueError(f"column {name:.80} is there {'twice' if name != _ADDED else 'though it may not be'}")
    for column in table.columns:
        if column.name not in found.names:
            if column.since == 0 and (not column.nullable or column.null_since):
                raise ValueError(f"column {column.name} is missing")
        elif not _fits(found.field(column.name).type, column.type):
            raise ValueError(f"column {column.name} is {found.field(column.name).type}, not {column.type}")


def check_rows(file: Any, table: Table, run_id: str) -> None:
    """Read all rows of a file once, and look at each value. Its footer has been looked at.

    Raises
    ------
    ValueError, OSError, pa.ArrowException, MemoryError : a value that its table cannot have, and which; or damage.
    """
    parquet = pq.ParquetFile(file)
    present = set(parquet.schema_arrow.names)
    columns = [column for column in table.columns if column.name in present]
    parquet = pq.ParquetFile(
        file,
        metadata=parquet.metadata,
        page_checksum_verification=True,
        # Each text once, however many rows have it.
        read_dictionary=[column.name for column in columns if pa.types.is_string(column.type)],
    )
    last: tuple[Any, ...] | None = None
    for batch in parquet.iter_batches(_BATCH, columns=[column.name for column in columns], use_threads=False):
        for column in columns:
            try:
                _check_values(batch.column(column.name), column, table)
            except (ValueError, pa.ArrowException) as error:
                raise ValueError(f"column {column.name}: {(str(error).splitlines() or ['unreadable'])[0]}") from None
        _check_bins(batch)
        last = _check_keys(batch, table, run_id, last)


def check_as_duckdb(paths: Sequence[str], columns: Sequence[str]) -> dict[str, int]:
    """Let DuckDB, which answers all questions, read each value of these columns as the views of the reader do.

    Returns the number of rows of the run that each file's folder names, by file; those without are absent.

    Raises
    ------
    ValueError : it cannot read one of the files.
    """
    every = ", ".join(f'"{name}"' for name in columns)
    read = "read_parquet($paths, filename = true, hive_partitioning = false)"
    text = f"""
        SELECT filename, count(*), max(hash({every})) FROM {read}
        WHERE run_id = split_part(filename, '/', -2) GROUP BY filename
    """
    try:
        counted = _duckdb().cursor().execute(text, {"paths": [literal_path(path) for path in paths]}).fetchall()
    except duckdb.Error as error:
        raise ValueError(f"DuckDB cannot read it: {(str(error).splitlines() or ['unreadable'])[0]}") from None
    return {path: rows for path, rows, _ in counted}


def literal_path(path: str) -> str:
    """The path with DuckDB's glob characters made literal: a run is a list of files, never a pattern."""
    return re.sub(r"[\[*?]", lambda match: f"[{match[0]}]", path)


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config={"memory_limit": "1GB", "threads": 1})
    connection.execute("SET autoinstall_known_extensions = false")
    return connection


def _check_values(values: pa.Array, column: Column, table: Table) -> None:
    import pyarrow.compute as pc  # as slow to import as a lake of a hundred runs is to open

    if pa.types.is_nested(values.type) or pa.types.is_dictionary(values.type):
        values.validate(full=True)
    if values.null_count and not column.nullable:
        raise ValueError("it has NULLs and may not")
    if pa.types.is_dictionary(values.type):
        longest = pc.max(pc.binary_length(values.dictionary)).as_py() or 0
        most = _LONGEST_TEXT if column.free_text else _LONGEST_NAME
        if longest > most:
            raise ValueError(f"a text of {longest} bytes; it may have {most}")
        return
    if pa.types.is_list(values.type):
        values = values.flatten()
        if values.null_count:
            raise ValueError("a list has NULLs and may not")
    elif pa.types.is_boolean(values.type):
        return
    of_type = column.type.value_type if pa.types.is_list(column.type) else column.type
    lowest, highest = pc.min_max(values if values.type == of_type else values.cast(of_type)).as_py().values()
    if pa.types.is_floating(values.type) and pc.all(pc.is_finite(values)).as_py() is False:
        raise ValueError("it has a value that is not a finite number")
    # What clients counted and measured is added up; of a server or a host anything may be read.
    if highest is not None and not table.collected and max(-lowest, highest) > _MOST:
        raise ValueError(f"{highest if highest > _MOST else lowest} is not a possible value")
    never_less = not column.nullable or column.null_since
    if lowest is not None and not table.collected and never_less and lowest < 0:
        raise ValueError(f"{lowest} is less than 0")


def _check_bins(batch: pa.RecordBatch) -> None:
    """Bins and counts of each histogram are as many, and the bins are those of response times."""
    import pyarrow.compute as pc  # as slow to import as a lake of a hundred runs is to open

    for name in batch.schema.names:
        counts = name.removesuffix("bins") + "counts"
        if name.endswith("bins") and counts in batch.schema.names:
            lengths = [pc.fill_null(pc.list_value_length(batch.column(each)), -1) for each in (name, counts)]
            if not lengths[0].equals(lengths[1]):
                raise ValueError(f"{name} and {counts} are not equally long")
            highest = pc.max(batch.column(name).flatten()).as_py()
            if highest is not None and highest >= _MOST_BINS:
                raise ValueError(f"column {name}: there is no bin {highest}")


def _check_keys(batch: pa.RecordBatch, table: Table, run_id: str, last: tuple[Any, ...] | None) -> tuple[Any, ...]:
    """All rows are of the run, and no row has the key of the row before it. Returns the last key."""
    import pyarrow.compute as pc  # as slow to import as a lake of a hundred runs is to open

    runs = batch.column("run_id")
    if set(pc.take(runs.dictionary, pc.unique(runs.indices)).to_pylist()) - {run_id}:
        raise ValueError("it has rows of another run")
    if not batch.num_rows:
        return last or ()
    columns = [batch.column(name) for name in table.key]
    same: Any = pa.array([True] * (batch.num_rows - 1), pa.bool_())
    for column in columns:
        comparable = column.indices if pa.types.is_dictionary(column.type) else column
        same = pc.and_(same, pc.equal(comparable[1:], comparable[:-1]))
    if pc.any(same).as_py() or last == tuple(column[0].as_py() for column in columns):
        raise ValueError(f"two rows have the same {', '.join(table.key[1:])}")
    return tuple(column[-1].as_py() for column in columns)


def _fits(found: pa.DataType, expected: pa.DataType) -> bool:
    if pa.types.is_list(expected):
        return pa.types.is_list(found) and _fits(found.value_type, expected.value_type)
    if pa.types.is_integer(expected):
        return bool(pa.types.is_integer(found))
    return bool(found == expected)
