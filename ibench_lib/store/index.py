"""The index of a lake: the content of the manifests of its sealed runs in one file, so that opening a lake is fast.

It is a cache. An entry is valid as long as its run directory has not changed: the names, inodes, sizes and change times
of all its files are the same. If the file is missing, damaged or made by other code, everything is read and the index
is recreated; one that was damaged is said. The file is a DuckDB database whose name has the SHA-256 of its content.
It is never changed, only replaced, so a connection that has it open keeps its content.

It holds the tables that come from manifests, the rows of `steps` (which almost every question asks for), the problems
of a run, and which files a run has, with their columns.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import tempfile
import time
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ibench_lib.base.later import later
from ibench_lib.paths import PACKAGE, say_once
from ibench_lib.schema import STEPS, TABLES, nullable_schema
from ibench_lib.store.manifest_tables import MANIFEST_TABLES

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq
else:
    duckdb, pa, pq = later("duckdb"), later("pyarrow"), later("pyarrow.parquet")

CATALOG = "ibench_index"

INDEXED = ("steps",)
"""Tables of TABLES whose rows are in the index."""

_VERSION = 1
_UNFINISHED_S = 3600.0
_TABLES: dict[str, dict[str, str]] = {
    "entries": {"run_id": "string", "folder": "string", "stamp": "binary"},
    "files": dict.fromkeys(("run_id", "folder", "file", "in_table", "columns"), "string"),
    **MANIFEST_TABLES,
    **{name: TABLES[name].kinds for name in INDEXED},
}
# Everything that decides what is read out of a run directory.
_CODE = (
    "schema.py",
    *(f"store/{name}.py" for name in ("annotations", "contents", "discovery", "index", "manifest", "manifest_tables")),
)


@dataclass
class Entry:
    """The entry of one run. `files` are (file, table, columns as `Sources` groups by them)."""

    run_id: str
    folder: str
    stamp: bytes | None
    rows: dict[str, pa.Table] = field(default_factory=dict)
    files: list[tuple[str, str, str]] = field(default_factory=list)
    problems: list[dict[str, str | None]] = field(default_factory=list)


class Index:
    """The index file of one lake, attached to `connection` as `ibench_index` if it is usable.

    `path` is its name without the checksum, such as data/.index. `stamps` are those of its entries by (folder, run).
    """

    def __init__(self, path: Path, connection: duckdb.DuckDBPyConnection) -> None:
        self.path = path
        self._connection = connection
        self.stamps: dict[tuple[str, str], bytes] = {}
        self._attach()

    @property
    def is_attached(self) -> bool:
        """Whether there is an index to read from."""
        return bool(self.stamps)

    def update(self, keep: Collection[str], batches: Iterable[list[Entry]]) -> bool:
        """Replace the index by one with the entries of the runs in `keep` and these. False if that is not possible."""
        return self._replace(keep, map(_contents, batches))

    def _replace(self, keep: Collection[str], contents: Iterable[dict[str, pa.Table]]) -> bool:
        temporary = None
        try:
            descriptor, name = tempfile.mkstemp(prefix=f"{self.path.name}-", suffix=".new", dir=self.path.parent)
            os.close(descriptor)
            temporary = Path(name)
            temporary.unlink()  # an empty file is not a database
            self._write(temporary, keep, contents)
            with open(temporary, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            self._detach()
            os.replace(temporary, self.path.with_name(f"{self.path.name}-{digest}.duckdb"))
            for other in _files(self.path):
                if digest not in other.name:
                    other.unlink(missing_ok=True)
            _remove_unfinished(self.path)
        except FileNotFoundError:  # a project without a data folder, which reads another lake, has no room for one
            return False
        except (OSError, duckdb.Error) as error:  # such as a read-only disk
            _say_without(self.path.parent, error)
            return False
        finally:
            if temporary is not None:
                for left in (temporary, temporary.with_name(f"{temporary.name}.wal")):
                    with contextlib.suppress(OSError):
                        left.unlink(missing_ok=True)
        self._attach()
        return True

    def table(self, name: str, without: Collection[str]) -> str:
        """SQL of the rows of a table, without those of some runs."""
        text = f'SELECT * FROM {CATALOG}."{name}"'
        return f"{text} WHERE run_id NOT IN (SELECT run_id FROM not_indexed)" if without else text

    def kinds_of_files(
        self, folders: Mapping[str, str], without: Collection[str], most: int
    ) -> list[tuple[str, str, list[str] | None]]:
        """(table, columns, addresses) of each kind of file of the runs that count; None for more than `most` files.

        `folders` has the address of each folder.
        """
        return self._connection.execute(
            f"SELECT in_table, columns, CASE WHEN count(*) <= {most} THEN list(path ORDER BY run_id, file) END "
            f"FROM ({self.files(folders, without)}) GROUP BY in_table, columns ORDER BY in_table, columns"
        ).fetchall()

    def addresses(self, table: str, columns: str, folders: Mapping[str, str], without: Collection[str]) -> str:
        """SQL of the list of the addresses of one kind of file; `folders` has the address of each folder."""
        wanted = f"in_table = {quoted(table)} AND columns = {quoted(columns)}"
        return f"(SELECT list(path ORDER BY run_id, file) FROM ({self.files(folders, without)}) WHERE {wanted})"

    def files(self, folders: Mapping[str, str], without: Collection[str]) -> str:
        """SQL of the files: in_table, columns, run_id, file, and path, which is their address."""
        cases = " ".join(f"WHEN {quoted(name)} THEN {quoted(address)}" for name, address in folders.items())
        path = f"CASE folder {cases} END || '/' || run_id || '/' || file"
        return f"SELECT in_table, columns, run_id, file, {path} AS path FROM ({self.table('files', without)})"

    def packed(self) -> bytes:
        """All of it for other machines: a ZIP file of Parquet, which needs less trust than a database file."""
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr("made_by", _code())
            for name, schema in _schemas().items():
                rows: pa.Table = self._connection.sql(f'SELECT * FROM {CATALOG}."{name}"').to_arrow_table()
                file = io.BytesIO()
                pq.write_table(rows.cast(schema), file, compression="zstd")
                archive.writestr(f"{name}.parquet", file.getvalue())
        return content.getvalue()

    def unpack(self, content: bytes) -> bool:
        """Replace the index by a packed one. False if other code made it, or if it cannot be read or stored."""
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                if archive.read("made_by").decode() != _code():
                    return False
                tables = {
                    name: pq.read_table(io.BytesIO(archive.read(f"{name}.parquet"))).cast(schema)
                    for name, schema in _schemas().items()
                }
        except Exception:  # a damaged file can raise any error
            return False
        return self._replace((), [tables])

    def _attach(self) -> None:
        for path in _files(self.path):
            try:
                with open(path, "rb") as file:
                    if hashlib.file_digest(file, "sha256").hexdigest() not in path.name:
                        _say_damaged(path)
                        continue
                self._connection.execute(f"ATTACH {quoted(str(path))} AS {CATALOG} (READ_ONLY)")
                made_by = self._connection.execute(f"SELECT made_by FROM {CATALOG}.index").fetchall()
                if made_by == [(_code(),)]:
                    entries = self._connection.execute(
                        f"SELECT folder, run_id, stamp FROM {CATALOG}.entries"
                    ).fetchall()
                    self.stamps = {(folder, run_id): stamp for folder, run_id, stamp in entries}
                    return
                self._detach()
            except FileNotFoundError:  # another process has replaced it meanwhile
                self._detach()
            except (OSError, duckdb.Error) as error:
                self._detach()
                _say_without(self.path.parent, error)

    def _detach(self) -> None:
        self.stamps = {}
        self._connection.execute(f"DETACH DATABASE IF EXISTS {CATALOG}")

    def _write(self, path: Path, keep: Collection[str], contents: Iterable[dict[str, pa.Table]]) -> None:
        connection = self._connection
        connection.execute(f"ATTACH {quoted(str(path))} AS new_index")
        try:
            connection.execute("CREATE TABLE new_index.index AS SELECT $1 AS made_by", [_code()])
            with _registered(connection, "kept", pa.table({"run_id": pa.array(sorted(keep), pa.string())})):
                for name, schema in _schemas().items():
                    with _registered(connection, "incoming", schema.empty_table()):
                        connection.execute(f'CREATE TABLE new_index."{name}" AS SELECT * FROM incoming')
                    if keep:
                        wanted = f'SELECT * FROM {CATALOG}."{name}" SEMI JOIN kept USING (run_id)'
                        connection.execute(f'INSERT INTO new_index."{name}" {wanted}')
            for tables in contents:
                for name, content in tables.items():
                    with _registered(connection, "incoming", content):
                        connection.execute(f'INSERT INTO new_index."{name}" BY NAME SELECT * FROM incoming')
        finally:
            connection.execute("DETACH DATABASE IF EXISTS new_index")


def _say_without(folder: Path, error: Exception) -> None:
    """Nothing is wrong with the figures, but reading takes longer until somebody looks."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error).partition("\n")[0]
    say_once(f"{folder}: the lake is read without its index, which takes longer: {reason}")


def _say_damaged(path: Path) -> None:
    """What is in it counts for nothing; but a file that nobody changes has changed, and others may have, too."""
    with contextlib.suppress(OSError):
        path.unlink()  # so that it is said once
    say_once(
        f"{path.parent}: the index of the lake is damaged ({path.name} does not fit its checksum) and is made again "
        "from the runs; `ibench runs verify` checks those"
    )


def _schemas() -> dict[str, pa.Schema]:
    return {name: nullable_schema(kinds) for name, kinds in _TABLES.items()}


def _contents(entries: list[Entry]) -> dict[str, pa.Table]:
    """The rows of each table of the index."""
    keys = [{"run_id": entry.run_id, "folder": entry.folder} for entry in entries]
    rows_of = {
        "entries": [{**key, "stamp": entry.stamp} for key, entry in zip(keys, entries, strict=True)],
        "files": [
            {**key, "file": file, "in_table": table, "columns": columns}
            for key, entry in zip(keys, entries, strict=True)
            for file, table, columns in entry.files
        ],
        "problems": [problem for entry in entries for problem in entry.problems],
    }
    schemas = _schemas()
    contents = {name: pa.Table.from_pylist(rows, schema=schemas[name]) for name, rows in rows_of.items()}
    for name, schema in schemas.items():
        if name not in contents:
            pieces = [entry.rows[name] for entry in entries if name in entry.rows]
            contents[name] = pa.concat_tables([schema.empty_table(), *pieces])
    return contents


@contextlib.contextmanager
def _registered(connection: duckdb.DuckDBPyConnection, name: str, content: pa.Table) -> Iterator[None]:
    connection.register(name, content)
    try:
        yield
    finally:
        connection.unregister(name)


def _files(path: Path) -> list[Path]:
    """Index files of that name, latest first."""
    name = re.compile(re.escape(path.name) + r"-[0-9a-f]{64}\.duckdb")
    files = []
    with contextlib.suppress(OSError):
        files = [each for each in path.parent.iterdir() if name.fullmatch(each.name) and not each.is_symlink()]
    return sorted(files, key=lambda each: each.name)


def _remove_unfinished(path: Path) -> None:
    """Delete what those who died have left: writing an index takes minutes at most."""
    for left in path.parent.glob(f"{path.name}-*.new*"):
        with contextlib.suppress(OSError):
            if time.time() - left.lstat().st_mtime > _UNFINISHED_S:
                left.unlink()


@cache
def _code() -> str:
    """What made an index: another version of ours or of DuckDB may read other things out of a manifest."""
    digest = hashlib.sha256(f"{_VERSION} {duckdb.__version__} {STEPS.name}".encode())
    for name in _CODE:
        digest.update((PACKAGE / name).read_bytes())
    return digest.hexdigest()


def quoted(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
