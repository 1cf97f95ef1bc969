"""The lake: an in-memory DuckDB over the sealed files of all runs, and the questions asked of it.

Nothing here writes below data/. A run or a file that cannot be read is left out and named in the table `problems`;
the others load.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from ibench_lib.errors import IbenchError, LakeError, QueryError
from ibench_lib.lake.manifest import FILE_NAME, Manifest, read_manifest
from ibench_lib.lake.tables import MANIFEST_TABLES, manifest_rows
from ibench_lib.paths import Workspace, check_run_id, workspace
from ibench_lib.schema import TABLES, Table

SQL = Path(__file__).resolve().parent.parent / "sql"

_DECLARED = re.compile(r"\$([a-z_]+): \S")
_USED = re.compile(r"\$([a-z_]+)")


@dataclass
class _Sources:
    """Where the rows of one table come from: files of finished runs, rows of runs still being written."""

    files: list[Path]
    live: list[pa.Table]


def lake(workspace: Workspace | None = None) -> duckdb.DuckDBPyConnection:
    """Open the lake of a workspace (default: the one in use).

    Returns
    -------
    An in-memory DuckDB connection with one view per table of `ibench_lib.schema`, the tables `runs`,
    `planned_steps`, `config_options` and `server_variables` from the manifests, `problems`, and the views of
    `ibench_lib/sql/views/`. Without any run every table is there and empty.
    """
    place = workspace or _workspace_in_use()
    connection = duckdb.connect(":memory:")
    # Reading a lake must not depend on a network, nor reach for one.
    connection.execute("SET autoinstall_known_extensions = false")
    problems: list[dict[str, str | None]] = []
    manifests: list[Manifest] = []
    sources = {name: _Sources([], []) for name in TABLES}
    for run_dir in _run_dirs(place.runs, problems):
        try:
            manifest = _checked_manifest(run_dir)
        except IbenchError as error:
            problems.append({"run_id": run_dir.name, "file": FILE_NAME, "problem": error.what})
            continue
        manifests.append(manifest)
        for name, table in TABLES.items():
            try:
                _add_source(sources[name], run_dir / table.file_name, table, manifest)
            except (OSError, ValueError, pa.ArrowException) as error:
                reason = str(error).splitlines()[0]
                problems.append({"run_id": run_dir.name, "file": table.file_name, "problem": reason})
    for name, source in sources.items():
        _create_view(connection, TABLES[name], source)
    rows = manifest_rows(manifests)
    for name, schema in MANIFEST_TABLES.items():
        content = problems if name == "problems" else rows[name]
        _create_table(connection, name, pa.Table.from_pylist(content, schema=schema))
    _create_sql_views(connection)
    return connection


def question(connection: duckdb.DuckDBPyConnection, name: str, **parameters: Any) -> pl.DataFrame:
    """Ask the question in `ibench_lib/sql/<name>.sql`. Values are bound, never formatted into the text.

    Raises
    ------
    QueryError : no such question; a parameter it does not declare or that is missing; SQL that DuckDB refuses.
    """
    text, declared = _load_question(name)
    unknown, missing = sorted(parameters.keys() - declared), sorted(declared - parameters.keys())
    if unknown or missing:
        wrong = [f"unknown parameter {n!r}" for n in unknown] + [f"missing parameter {n!r}" for n in missing]
        raise QueryError(f"question {name}: {', '.join(wrong)}", hint=f"it takes: {', '.join(sorted(declared))}")
    return _run(connection, text, parameters, f"question {name}")


def parameters_of(name: str) -> frozenset[str]:
    """The parameters that a question declares."""
    return _load_question(name)[1]


def questions() -> dict[str, str]:
    """All questions: name -> documentation (the leading comment of its file)."""
    return {path.stem: _comment(path.read_text(encoding="utf-8")) for path in sorted(SQL.glob("*.sql"))}


def sql(connection: duckdb.DuckDBPyConnection, text: str) -> pl.DataFrame:
    """Ask anything in DuckDB's SQL; a statement without a result gives an empty frame.

    Raises
    ------
    QueryError : one line of what DuckDB says.
    """
    return _run(connection, text, {}, "SQL")


def _workspace_in_use() -> Workspace:
    return workspace()


def _run_dirs(runs: Path, problems: list[dict[str, str | None]]) -> list[Path]:
    if not runs.is_dir():
        return []
    found = []
    for entry in sorted(runs.iterdir()):
        problem = None
        if entry.is_symlink():
            problem = "a symbolic link is not a run directory"
        elif not entry.is_dir():
            continue
        else:
            try:
                check_run_id(entry.name)
            except IbenchError as error:
                problem = error.what
        if problem is None:
            found.append(entry)
        else:
            problems.append({"run_id": entry.name, "file": None, "problem": problem})
    return found


def _checked_manifest(run_dir: Path) -> Manifest:
    if (run_dir / FILE_NAME).is_symlink():
        raise LakeError(f"run {run_dir.name}: {FILE_NAME} is a symbolic link")
    manifest = read_manifest(run_dir)
    if manifest.run_id != run_dir.name:
        raise LakeError(f"run {run_dir.name}: its manifest is of run {manifest.run_id!r:.80}")
    try:
        datetime.fromisoformat(manifest.origin_wall).astimezone(UTC)
    except ValueError as error:
        raise LakeError(f"run {run_dir.name}: {FILE_NAME}: origin_wall: {error}") from None
    return manifest


def _add_source(source: _Sources, path: Path, table: Table, manifest: Manifest) -> None:
    """Add a run's file of `table`. Raises ValueError, OSError or ArrowException for a file that must be skipped."""
    sealed = manifest.files.get(table.file_name)
    if path.is_symlink():
        raise ValueError("a symbolic link is not followed")
    if not path.exists():
        if sealed is not None:
            raise ValueError("missing, though the manifest lists it")
        return
    if sealed is not None and path.stat().st_size != sealed.bytes:
        raise ValueError(f"{path.stat().st_size} bytes, but the manifest says {sealed.bytes}")
    if sealed is not None and _sha256(path) != sealed.sha256:
        raise ValueError("its content is not what the manifest vouches for (SHA-256)")
    if manifest.status == "running":
        # Its file may be replaced while we read: take one consistent copy now.
        content = pq.ParquetFile(pa.BufferReader(path.read_bytes())).read()
        _check_columns(content.schema, table)
        known = [field for field in table.arrow_schema if field.name in content.column_names]
        source.live.append(content.select([field.name for field in known]).cast(pa.schema(known)))
        return
    with pq.ParquetFile(path) as file:
        _check_columns(file.schema_arrow, table)
    source.files.append(path)


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_columns(found: pa.Schema, table: Table) -> None:
    for column in table.columns:
        if column.name in found.names and not _fits(found.field(column.name).type, column.type):
            raise ValueError(f"column {column.name} is {found.field(column.name).type}, not {column.type}")


def _fits(found: pa.DataType, expected: pa.DataType) -> bool:
    if pa.types.is_list(expected):
        return pa.types.is_list(found) and _fits(found.value_type, expected.value_type)
    if pa.types.is_integer(expected):
        return bool(pa.types.is_integer(found))
    return bool(found == expected)


def _create_view(connection: duckdb.DuckDBPyConnection, table: Table, source: _Sources) -> None:
    """A view with exactly the declared columns and types, whatever the files have.

    Files with the same columns are read together: to unite columns by name DuckDB would open every file whenever the
    view is bound. That a row's run is the one whose directory holds it is true of every row; said in the view, it lets
    DuckDB leave out the files of other runs under `WHERE run_id = ...`, and a join skip their row groups.
    """
    base = f"live_{table.name}"
    # Nullable throughout: a file of an older schema lacks columns.
    schema = pa.schema([pa.field(column.name, column.type) for column in table.columns])
    live = pa.concat_tables([schema.empty_table(), *source.live], promote_options="permissive").select(schema.names)
    _create_table(connection, base, live.cast(schema))
    parts = [f"SELECT * FROM {base}"]
    for names, paths in _alike(connection, source.files):
        columns = ", ".join(f'"{column.name}"' for column in table.columns if column.name in names)
        listed = ", ".join(_quoted(_literal_path(path)) for path in paths)
        parts.append(
            f"SELECT {columns} FROM read_parquet([{listed}], filename = true)"
            " WHERE run_id = split_part(filename, '/', -2)"
        )
    types = dict(connection.sql(f"SELECT column_name, column_type FROM (DESCRIBE {base})").fetchall())
    casts = ", ".join(f'"{name}"::{types[name]} AS "{name}"' for name in schema.names)
    text = " UNION ALL BY NAME ".join(parts)
    connection.execute(f'CREATE VIEW "{table.name}" AS SELECT {casts} FROM ({text})')


def _alike(connection: duckdb.DuckDBPyConnection, files: list[Path]) -> list[tuple[set[str], list[Path]]]:
    """The files by what columns of what types they have: (names of the columns, files)."""
    if not files:
        return []
    listed = ", ".join(_quoted(_literal_path(path)) for path in files)
    rows = connection.sql(
        "SELECT names, list(file_name) FROM ("
        "  SELECT file_name, list(name ORDER BY name) AS names,"
        "         list((name, type, converted_type, logical_type)::VARCHAR ORDER BY name, type) AS columns"
        f"  FROM parquet_schema([{listed}]) GROUP BY file_name"
        ") GROUP BY names, columns"
    ).fetchall()
    return [(set(names), sorted(map(Path, paths))) for names, paths in rows]


def _create_table(connection: duckdb.DuckDBPyConnection, name: str, content: pa.Table) -> None:
    connection.register("incoming", content)
    connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM incoming')
    connection.unregister("incoming")


def _literal_path(path: Path) -> str:
    """The path with DuckDB's glob characters made literal: a run is a list of files, never a pattern."""
    return re.sub(r"[\[*?]", lambda match: f"[{match[0]}]", str(path))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _create_sql_views(connection: duckdb.DuckDBPyConnection) -> None:
    """Create sql/views/*.sql; a view may build on others, so go round until all stand."""
    waiting = {path.stem: path.read_text(encoding="utf-8") for path in sorted((SQL / "views").glob("*.sql"))}
    while waiting:
        refused: dict[str, duckdb.Error] = {}
        for name, text in waiting.items():
            try:
                connection.execute(f'CREATE VIEW "{name}" AS {text}')
            except duckdb.Error as error:
                refused[name] = error
        if len(refused) == len(waiting):
            name, first = next(iter(refused.items()))
            raise QueryError(f"sql/views/{name}.sql: {_one_line(first)}") from first
        waiting = {name: waiting[name] for name in refused}


@cache
def _load_question(name: str) -> tuple[str, frozenset[str]]:
    """Text and declared parameters of a question; what is declared must be what is used."""
    path = SQL / f"{name}.sql"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or not path.is_file():
        known = ", ".join(sorted(p.stem for p in SQL.glob("*.sql")))
        raise QueryError(f"no question {name!r:.80}", hint=f"there are: {known}")
    text = path.read_text(encoding="utf-8")
    declared = frozenset(_DECLARED.findall(_comment(text)))
    used = frozenset(_USED.findall(re.sub(r"--.*", "", text)))
    if declared != used:
        raise QueryError(
            f"question {name}: declares {sorted(declared)} but uses {sorted(used)}",
            hint="its leading comment must have one line `$name: what it is` for each parameter",
        )
    return text, declared


def _comment(text: str) -> str:
    """The leading comment without its dashes."""
    match = re.match(r"(?:--.*\n)+", text)
    return re.sub(r"(?m)^-- ?", "", match[0]).strip() if match else ""


def _run(connection: duckdb.DuckDBPyConnection, text: str, values: dict[str, Any], what: str) -> pl.DataFrame:
    try:
        relation = connection.sql(text, params=values) if values else connection.sql(text)
        frame: pl.DataFrame = relation.pl() if relation is not None else pl.DataFrame()
        return frame
    except duckdb.Error as error:
        raise QueryError(f"{what}: {_one_line(error)}") from error


def _one_line(error: duckdb.Error) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = next((line for line in lines if not line.startswith("LINE ")), "refused")
    where = next((line for line in lines if line.startswith("LINE ")), "")
    return f"{first} ({where})" if where else first
