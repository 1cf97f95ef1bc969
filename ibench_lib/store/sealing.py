"""From the rows of a run to its sealed tables: sorted, and where a table says so the later of two rows with one key.

Used when a step ends, when a run ends, and when a run is recovered from its journal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ibench_lib.schema import TABLES, Table
from ibench_lib.store.derive import response_times
from ibench_lib.store.manifest import TEXTS, FileRecord
from ibench_lib.store.parquet import write_table

# Row groups let a reader skip steps, and each costs a kilobyte or two for every few columns.
_WORTH_A_ROW_GROUP = 20_000


def table_of(file_name: str) -> str:
    """The table whose rows a file of a run directory has: `ops` of ops.parquet and of ops.3.parquet."""
    return file_name.partition(".")[0]


def in_order(table: Table, data: pa.Table) -> pa.Table:
    """Rows sorted by the table's key; where it `replaces`, only the last row of each key."""
    if table.replaces:
        last = {tuple(row[column] for column in table.key): row for row in data.to_pylist()}
        return pa.Table.from_pylist([last[key] for key in sorted(last)], schema=table.arrow_schema)
    return data.sort_by([(column, "ascending") for column in table.key])


def with_derived(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables, and those that are worked out from them."""
    complete = dict(tables)
    if "ops" in tables:
        complete["response_times"] = response_times(tables["ops"])
    return complete


def text_records(run_dir: Path) -> dict[str, FileRecord]:
    """What a manifest says of the files next to the tables, as they are now. Raises OSError where one is unreadable."""
    records = {}
    for path in (run_dir / name for name in TEXTS):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            records[path.name] = FileRecord(rows=0, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    return records


def write_part(run_dir: Path, generation: int, tables: Mapping[str, pa.Table]) -> dict[str, FileRecord]:
    """Seal one generation: `<table>.<generation>.parquet` for every table that has rows."""
    written = {}
    for name, data in with_derived(tables).items():
        table, file_name = TABLES[name], f"{name}.{generation}.parquet"
        written[file_name] = write_table(run_dir / file_name, table, [in_order(table, data)])
    return written


def write_whole(run_dir: Path, parts: Mapping[str, FileRecord], rest: Mapping[str, pa.Table]) -> dict[str, FileRecord]:
    """Seal a run: one `<table>.parquet` of the parts, in their order, and the rest."""
    rest = with_derived(rest)
    written = {}
    for name, table in TABLES.items():
        files = [run_dir / file_name for file_name in _by_generation(parts, name)]
        if not files and name not in rest:
            continue
        pieces = _pieces(table, files, rest.get(name))
        if table.replaces:
            pieces = iter([in_order(table, pa.concat_tables(pieces))])
        written[table.file_name] = write_table(run_dir / table.file_name, table, pieces)
    return written


def write_streamed(run_dir: Path, name: str, pieces: Iterable[pa.Table]) -> dict[str, FileRecord]:
    """One `<table>.parquet` of pieces that are in the order of its key, and of what is worked out from each of them.

    No more than a few pieces are in memory. A worker of a step must not be in several of them.
    """
    derived: dict[str, list[pa.Table]] = {}

    def joined() -> Iterator[pa.Table]:
        waiting: list[pa.Table] = []
        for piece in pieces:
            waiting.append(piece)
            for other, data in with_derived({name: piece}).items():
                if other != name:
                    derived.setdefault(other, []).append(data)
            if sum(data.num_rows for data in waiting) >= _WORTH_A_ROW_GROUP:
                yield pa.concat_tables(waiting)
                waiting = []
        if waiting:
            yield pa.concat_tables(waiting)

    written = {TABLES[name].file_name: write_table(run_dir / TABLES[name].file_name, TABLES[name], joined())}
    for other, parts in derived.items():
        table = TABLES[other]
        written[table.file_name] = write_table(run_dir / table.file_name, table, [pa.concat_tables(parts)])
    return written


def _by_generation(parts: Mapping[str, FileRecord], name: str) -> list[str]:
    mine = [file_name for file_name in parts if table_of(file_name) == name]
    return sorted(mine, key=lambda file_name: int(file_name.split(".")[1]))


def _pieces(table: Table, files: list[Path], rest: pa.Table | None) -> Iterator[pa.Table]:
    """The rows in pieces that are worth a row group each: a step of its own, or short steps together."""
    waiting: list[pa.Table] = []
    for piece in _stored(table, files, rest):
        waiting.append(piece)
        if sum(data.num_rows for data in waiting) >= _WORTH_A_ROW_GROUP:
            yield _joined(table, waiting)
            waiting = []
    if waiting:
        yield _joined(table, waiting)


def _joined(table: Table, pieces: list[pa.Table]) -> pa.Table:
    return pieces[0] if len(pieces) == 1 else in_order(table, pa.concat_tables(pieces))


def _stored(table: Table, files: list[Path], rest: pa.Table | None) -> Iterator[pa.Table]:
    for path in files:
        with pq.ParquetFile(path) as file:
            for number in range(file.num_row_groups):
                yield file.read_row_group(number).cast(table.arrow_schema)
    if rest is not None:
        yield in_order(table, rest)
