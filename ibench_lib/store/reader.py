"""The lake: an in-memory DuckDB over the files of all runs, and the questions asked of it.

A run or a file that cannot be read is left out and named in the table `problems`; the others load. A run that is being
written, or whose writer died, is read as it was at one moment: its sealed steps and its journal.
"""

from __future__ import annotations

import atexit
import contextlib
import difflib
import gc
import hashlib
import json
import os
import re
import secrets
import tempfile
import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import duckdb

from ibench_lib.base.later import later
from ibench_lib.base.scratch import PREFIX, scratch_directory
from ibench_lib.errors import LakeError, QueryError
from ibench_lib.paths import LAKE_VARIABLE, Workspace, workspace
from ibench_lib.schema import TABLES, Table, nullable_schema, sql_type
from ibench_lib.store import catalogue
from ibench_lib.store.contents import literal_path
from ibench_lib.store.discovery import LakeContents, find_runs
from ibench_lib.store.index import INDEXED, Index, quoted
from ibench_lib.store.manifest_tables import MANIFEST_TABLES
from ibench_lib.store.narrow import NarrowableViews, narrowed
from ibench_lib.store.shown import remember_where
from ibench_lib.store.state import remember_state, state_of

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from ibench_lib.store import transfer
else:
    pa, transfer = later("pyarrow"), later("ibench_lib.store.transfer")

# DuckDB warns of a copy of the rows; the answer of a question is small.
warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning)


# So many paths stand in the text of a view; a longer list is parsed too often, and a variable of the connection has it.
_PATHS_IN_A_VIEW = 300
_FETCHED = 1000
_TRIES = 10
MEMORY = "2GB"
"""What `rows` may use. What does not fit goes to disk where DuckDB can do without it for a while."""

# Small views that almost every question uses several times: as tables they are not planned and computed each time.
_COMPUTED_ONCE = ("families", "run_steps")

# Runs that have a step which is marked in one of them, in the same experiment and setup.
_NEXT_TO_A_MARK = """
    WITH named AS (SELECT * FROM run_steps JOIN (SELECT run_id, experiment, setup FROM runs) USING (run_id))
    SELECT DISTINCT run_id FROM named
    SEMI JOIN (FROM named WHERE client_bound IS NOT NULL) marked USING (experiment, setup, step)
"""


_GIVEN = {"runs": "runs_of('<experiment>')", "steps": "[]", "ids": "runs_of('<experiment>')", "names": "[]"}
"""What to give a question for its parameters; an empty list means all steps."""


_LONGEST_OPENING_S = 10.0

_Opened = tuple[duckdb.DuckDBPyConnection, str | None]
"""A lake, and the state of what it was opened with, if that did not change meanwhile."""

_AHEAD: dict[str, Future[_Opened]] = {}
"""The lake that is being opened, by its place."""


def open_ahead() -> None:
    """Begin to open the lake that the next call of `lake` without a place is going to ask for, if it is this one."""
    place, opening = _default(), Future[_Opened]()

    def work() -> None:
        try:
            before = _state(place)
            connection = _opened(place)
            unchanged = before is not None and before == _state(place)
            opening.set_result((connection, before if unchanged else None))
        except BaseException as error:
            opening.set_exception(error)

    _AHEAD[str(place)] = opening
    thread = threading.Thread(target=work, name="open a lake ahead", daemon=True)
    # Python ends such a thread inside of DuckDB, which aborts the process. A slow store is not waited for.
    atexit.register(thread.join, _LONGEST_OPENING_S)
    thread.start()


def lake(place: Workspace | str | None = None) -> duckdb.DuckDBPyConnection:
    """Open a lake: a workspace's, or the runs at an address that fsspec knows, such as s3://bucket/lake.

    A workspace's lake has its own runs and those that came with it as a sample. Without `place` it is the address in
    the environment variable IBENCH_LAKE, else the workspace in use.

    Returns
    -------
    An in-memory DuckDB connection with one view per table of `ibench_lib.schema`, the tables `runs`,
    `planned_steps`, `operations`, `kinds`, `config_options`, `server_variables`, `binaries` and `collectors` from the
    manifests, `annotations`, `unvouched` (files without a checksum), `problems`, the views of
    `ibench_lib/sql/views/`, and every question as a table macro in the schema `questions`, so that one can build on
    another: `FROM questions.step_throughput($runs, $steps)`. Without any run every table is there and empty.
    """
    return _opened_ahead()[0] if place is None else _opened(place)


def unshared_lake() -> duckdb.DuckDBPyConnection:
    """The same without `place`, for one who lets nobody change it: its state is remembered, if it was opened ahead."""
    connection, state = _opened_ahead()
    if state is not None:
        remember_state(connection, state)
    return connection


def _opened_ahead() -> _Opened:
    ahead = _AHEAD.pop(str(_default()), None)
    return ahead.result() if ahead is not None else (_opened(_default()), None)


def _state(place: Workspace | str) -> str | None:
    return state_of(place) if isinstance(place, Workspace) else None


def _default() -> Workspace | str:
    return os.environ.get(LAKE_VARIABLE) or workspace()


def _opened(place: Workspace | str) -> duckdb.DuckDBPyConnection:
    here = place if isinstance(place, Workspace) else workspace()
    connection = _filled(lambda: _with_every_name(here.data), place, {*TABLES, *MANIFEST_TABLES})
    _insert(connection, catalogue.RATE_METRICS, catalogue.rate_metrics())
    for name in _COMPUTED_ONCE:
        connection.execute(f'CREATE TABLE "computed_{name}" AS FROM "{name}"')
        connection.execute(f'DROP VIEW "{name}"')
        connection.execute(f'ALTER TABLE "computed_{name}" RENAME TO "{name}"')
    _judge_the_clients(connection)
    remember_where(connection, str(place.data) if isinstance(place, Workspace) else place)
    return connection


def _judge_the_clients(connection: duckdb.DuckDBPyConnection) -> None:
    """Settle which steps their clients limited, with what no single run knows.

    Clients are late where they get no CPU, so steps whose host had much other work have no mark (`host_taken_of`). Of
    those left, results of a step that cannot be told apart have the same verdict (`client_verdicts`). Few steps are
    marked, so few files are opened.
    """
    near = [run_id for (run_id,) in connection.execute(_NEXT_TO_A_MARK).fetchall()]
    if near:
        judging, runs = narrowed(connection, near), f"[{', '.join(map(quoted, near))}]"
        judging.execute(
            f"UPDATE run_steps SET client_bound = NULL, client_limit_share = NULL FROM (FROM host_taken_of({runs}, []) "
            "WHERE much) t WHERE run_steps.run_id = t.run_id AND run_steps.step_id = t.step_id"
        )
        judging.execute(
            f"UPDATE run_steps SET client_bound = v.client_bound FROM (FROM client_verdicts({runs})) v "
            "WHERE run_steps.run_id = v.run_id AND run_steps.step_id = v.step_id"
        )


def tables_alone(
    names: Collection[str], place: Workspace | str | None = None, macros: Collection[str] = ()
) -> duckdb.DuckDBPyConnection:
    """A lake with some of its tables and macros only, and no questions: for what must be quick.

    The tables that the macros read must be among `names`.
    """

    def empty() -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect(":memory:")
        for name in names:
            _create_empty(connection, name, _tables()[name])
        if macros:
            texts = [piece.text for piece in catalogue.pieces() if piece.called in macros]
            needed = {*macros, *(name for text in texts for name in catalogue.building_blocks(text))}
            _create_sql_views(connection, {p.place: p.statement for p in catalogue.pieces() if p.called in needed})
        return connection

    return _filled(empty, place or _default(), names)


def _filled(
    empty: Callable[[], duckdb.DuckDBPyConnection], place: Workspace | str, names: Collection[str]
) -> duckdb.DuckDBPyConnection:
    """Let tables of a new connection be what a place has.

    A run that is removed between the moment when it is found and that when its files are opened ends in an error of
    DuckDB's, although all others are there: the runs are then looked for again.

    Raises
    ------
    LakeError : a file cannot be opened, again and again.
    """
    for left in reversed(range(_TRIES)):
        connection = empty()
        # Reading a lake must not depend on a network, nor reach for one.
        connection.execute("SET autoinstall_known_extensions = false")
        # Where questions are built of questions, this one alone takes a third of the time and makes no answer quicker.
        connection.execute("SET disabled_optimizers = 'projection_pullup'")
        try:
            with _without_collecting():
                _fill(connection, find(place, connection), names)
            return connection
        except duckdb.IOException as error:
            connection.close()
            if not left:
                raise LakeError(f"a file of the lake cannot be opened: {_one_line(error)}") from error
    raise AssertionError("unreachable")


@contextlib.contextmanager
def _without_collecting() -> Iterator[None]:
    """What is found is kept: to search hundreds of thousands of new objects for cycles takes a tenth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _fill(connection: duckdb.DuckDBPyConnection, found: LakeContents, names: Collection[str]) -> None:
    """Let each of these tables, empty so far, be what was found."""
    connection.execute("BEGIN")  # one transaction: each of its own would be written out
    connection.execute("CREATE TABLE not_indexed (run_id VARCHAR)")
    _insert(connection, "not_indexed", [(run_id,) for run_id in found.not_indexed])
    if found.index is not None and found.index.is_attached:
        found.indexed_files = found.index.kinds_of_files(_literal_folders(found), found.not_indexed, _PATHS_IN_A_VIEW)
    narrowable = NarrowableViews()
    for name, table in TABLES.items():
        if name in names:
            _create_view(connection, table, found, narrowable)
    narrowable.create(connection, _files_of_index(found))
    for name in MANIFEST_TABLES:
        if name in names:
            _create_manifest_table(connection, name, found)
    connection.execute("COMMIT")


def find(place: Workspace | str, connection: duckdb.DuckDBPyConnection) -> LakeContents:
    """What a place has. Its index is attached to the connection, and brought up to date."""
    if isinstance(place, Workspace):
        return find_runs([place.runs, place.sample], place.data, Index(place.data / ".index", connection))
    store = transfer.open_store(place)
    if store.is_local and not Path(store.root).exists():
        raise LakeError(f"{place}: there is no such folder", hint="a lake is a folder with one folder for each run")
    if not store.is_local:
        connection.register_filesystem(store.files)
    return transfer.find_stored_runs(store, index_of(store, workspace(), connection))


def index_of(store: transfer.Store, here: Workspace, connection: duckdb.DuckDBPyConnection) -> Index:
    """What a workspace remembers of a store."""
    return Index(here.data / f".index-of-{hashlib.sha256(store.url.encode()).hexdigest()[:16]}", connection)


def question(connection: duckdb.DuckDBPyConnection, name: str, **parameters: Any) -> pl.DataFrame:
    """Ask the question in `<name>.sql`, below `ibench_lib/sql/` or a workload's `results/sql/`.

    Values are bound, never formatted into the text.

    Raises
    ------
    QueryError : no such question; a parameter it does not declare or that is missing; SQL that DuckDB refuses.
    """
    text, declared = catalogue.load_question(name)
    unknown, missing = sorted(parameters.keys() - declared), sorted(declared - parameters.keys())
    if unknown or missing:
        wrong = [f"unknown parameter {n!r}" for n in unknown] + [f"missing parameter {n!r}" for n in missing]
        raise QueryError(f"question {name}: {', '.join(wrong)}", hint=f"it takes: {', '.join(sorted(declared))}")
    return _run(connection, text, parameters, f"question {name}")


def columns(name: str) -> pl.DataFrame:
    """The columns of a question, table or view: name, type, unit, and what docs/schema.md says of it.

    The last two are empty for a column that is in no table of the schema, or not with one meaning.

    Raises
    ------
    QueryError : no question, table or view has that name.
    """
    import polars as pl

    return pl.DataFrame(_columns(name), schema=["column", "type", "unit", "meaning"], orient="row")


def documentation(name: str) -> str:
    """The documentation of a question with its columns, for people. Raises QueryError where there is no such one."""
    text = catalogue.comment(catalogue.question_text(name))
    columns = _columns(name)
    widths = [max(len(row[place]) for row in columns) for place in (0, 1)]
    lines = []
    for column, kind, unit, meaning in columns:
        described = f"{meaning} ({unit})" if unit else meaning
        lines.append(f"    {column.ljust(widths[0])}  {kind.ljust(widths[1])}  {described}".rstrip())
    return f"{text}\n\nColumns\n" + "\n".join(lines)


def _kind(of_type: str) -> str:
    """The type without how many bits a whole number has: SQL widens them."""
    return re.sub(r"\bU?(TINY|SMALL|BIG|HUGE)INT\b", "INTEGER", of_type)


def _columns(name: str) -> tuple[tuple[str, str, str, str], ...]:
    """Column, type, unit, meaning of a question, table or view."""
    try:
        return described(f"questions.{name}" if name in catalogue.question_texts() else name)
    except duckdb.Error:
        known = [
            name.removeprefix("questions.")
            for kind, name, _ in catalogue.documented()
            if kind not in catalogue.WITHOUT_COLUMNS
        ]
        near = difflib.get_close_matches(name, known, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        hint = "`ib.contents()` lists questions, docs/schema.md and docs/lake.md tables and views"
        raise QueryError(f"no question, table or view {name!r:.80}{meant}", hint=hint) from None


@cache
def described(name: str) -> tuple[tuple[str, str, str, str], ...]:
    """Column, type, unit and meaning of what `documented` names.

    A function of one value has none, and those of a macro that reads whatever table it is given depend on that table:
    an empty tuple. Nothing is asked of any run: every name is in a lake without any.
    """
    if any(piece.called == name and (piece.kind == "functions" or piece.takes_a_table) for piece in catalogue.pieces()):
        return ()
    # NULL fits parameters of every type. Parentheses stay where there are no parameters: a question is a macro.
    is_called = any(piece.called == name and piece.kind != "views" for piece in catalogue.pieces())
    given = f"({', '.join('NULL' for _ in catalogue.parameters_in_order(name))})" if is_called else ""
    nothing, meanings = _nothing(_made_of())
    columns = nothing.execute(f"DESCRIBE FROM {'.'.join(map(_name, name.split('.')))}{given}").fetchall()
    own = catalogue.columns_documented(name)
    return tuple(
        (column, kind, *(own.get(column) or meanings.get((column, _kind(kind))) or ("", "")))
        for column, kind, *_ in columns
    )


@lru_cache(maxsize=1)
def _nothing(made_of: str) -> tuple[duckdb.DuckDBPyConnection, dict[tuple[str, str], tuple[str, str]]]:
    """A lake without runs that has the names of `_made_of`, to ask about them only, and the meanings of its columns.

    To open one takes longer than to ask about a hundred names.
    """
    nothing = _with_every_name(workspace().data)
    return nothing, _meanings(nothing)


def _meanings(nothing: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], tuple[str, str]]:
    """(column, kind of type) -> (unit, meaning), of columns that mean the same in every table that has them."""
    meanings_of: dict[tuple[str, str], set[tuple[str, str]]] = {}
    kinds = nothing.execute("SELECT table_name, column_name, data_type FROM duckdb_columns()").fetchall()
    for table, column, kind in kinds:
        if table in TABLES:
            meanings_of.setdefault((column, _kind(kind)), set()).add(catalogue.columns_documented(table)[column])
    return {of: next(iter(meanings)) for of, meanings in meanings_of.items() if len(meanings) == 1}


def sql(connection: duckdb.DuckDBPyConnection, text: str) -> pl.DataFrame:
    """Ask anything in DuckDB's SQL; a statement without a result gives an empty frame.

    Raises
    ------
    QueryError : one line of what DuckDB says.
    """
    return _run(connection, text, {}, "SQL")


@contextlib.contextmanager
def rows(connection: duckdb.DuckDBPyConnection, text: str) -> Iterator[tuple[list[str], Iterator[tuple[Any, ...]]]]:
    """Names and rows of an answer, which is fetched while it is read: it need not fit into memory.

    Raises
    ------
    QueryError : one line of what DuckDB says, also while rows are read.
    """

    def fetched() -> Iterator[tuple[Any, ...]]:
        while part := connection.fetchmany(_FETCHED):
            yield from part

    with _bounded(connection):
        relation = connection.execute(text)
        yield [column[0] for column in relation.description or []], fetched()


def statements(text: str) -> list[str]:
    """The statements of a text; all of it where DuckDB cannot read it, which it will say when it is asked."""
    try:
        return [statement.query for statement in duckdb.extract_statements(text)]
    except duckdb.Error:
        return [text]


def write_parquet(connection: duckdb.DuckDBPyConnection, text: str, path: Path) -> None:
    """Write the answer of a query to a Parquet file. Raises QueryError: one line of what DuckDB says."""
    with _bounded(connection):
        connection.execute(f"COPY (\n{text.strip().rstrip(';')}\n) TO {quoted(str(path))} (FORMAT parquet)")


@contextlib.contextmanager
def _bounded(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Little memory for what somebody asks in SQL, and one line for what goes wrong."""
    try:
        connection.execute(f"SET memory_limit = '{MEMORY}'")
        (spills_to,) = connection.execute("SELECT current_setting('temp_directory')").fetchone() or ("",)
        own = _spill_folder()
        if not spills_to.startswith(str(own)):  # once used it cannot be changed
            # What does not fit is sorted and joined on disk. This folder goes with the connection, which must make it.
            connection.execute(f"SET temp_directory = {quoted(str(own / secrets.token_hex(8)))}")
        connection.execute("SET streaming_buffer_size = '16MB'")
        yield
    except duckdb.OutOfMemoryException as error:
        hint = "select or aggregate less at once, or ask in Python: ib.sql() may use as much as DuckDB itself allows"
        raise QueryError(f"SQL: this query needs more than {MEMORY} of memory", hint=hint) from error
    except (duckdb.Error, OverflowError) as error:
        raise QueryError(f"SQL: {_one_line(error)}", hint=_hint(error)) from error


@cache
def _spill_folder() -> Path:
    """A folder of this process. Who is killed leaves gigabytes; the next run, pull or recovery finds and removes it."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(scratch_directory(f"{PREFIX}sql-"))


def _create_view(
    connection: duckdb.DuckDBPyConnection, table: Table, found: LakeContents, narrowable: NarrowableViews
) -> None:
    """A view with exactly the declared columns and types, whatever the files have.

    Files with the same columns are read together: to unite columns by name DuckDB would open every file whenever the
    view is bound. That a row's run is the one whose directory holds it is true of every row; said in the view, it lets
    DuckDB leave out the files of other runs under `WHERE run_id = ...`, and a join skip their row groups.
    """
    base, source = f"live_{table.name}", found.sources[table.name]
    parts: list[str] = []
    alike = []
    for columns, files in source.alike():
        paths = {file: literal_path(file) for file in files}
        text = f"[{', '.join(map(quoted, paths.values()))}]"
        alike.append((columns, narrowable.of_listed(table.name, paths, text)))
    if found.index is not None and found.index.is_attached:
        if table.name in INDEXED:
            parts.append(found.index.table(table.name, found.not_indexed))
        alike += _indexed_files(connection, table.name, found, narrowable)
    missing = set() if parts else {column.name for column in table.columns}
    for columns, listed in alike:
        names = {name for name, _ in json.loads(columns)}
        missing -= names
        known = ", ".join(f'"{column.name}"' for column in table.columns if column.name in names)
        parts.append(
            f"SELECT {known} FROM read_parquet({listed}, filename = true, hive_partitioning = false)"
            " WHERE run_id = split_part(filename, '/', -2)"
        )
    has_live = any(live.num_rows for live in source.live)
    if not (parts or has_live):
        return  # the table stays as it is, empty
    # An empty part costs as much as a full one whenever a question is planned. It still gives columns that no file has.
    if has_live:
        # Nullable throughout: a file of an older schema lacks columns.
        schema = nullable_schema(table.kinds)
        live = pa.concat_tables([empty(schema), *source.live], promote_options="permissive")
        _create_table(connection, base, live.select(schema.names).cast(schema))
        parts.insert(0, f"SELECT * FROM {base}")
    elif missing:
        _declare_table(connection, base, table.kinds)
        parts.insert(0, f"SELECT * FROM {base}")
    under = _files_of(table.name)
    casts = ", ".join(f'"{name}"::{sql_type(kind)} AS "{name}"' for name, kind in table.kinds.items())
    text = " UNION ALL BY NAME ".join(parts)
    connection.execute(f'DROP TABLE "{under}"')
    connection.execute(f'CREATE VIEW "{under}" AS SELECT {casts} FROM ({text})')


def _indexed_files(
    connection: duckdb.DuckDBPyConnection, table: str, found: LakeContents, narrowable: NarrowableViews
) -> list[tuple[str, str]]:
    """(columns, SQL of the list of their paths) of the files of a table that the index knows."""
    assert found.index is not None
    listed = []
    for number, (of, columns, paths) in enumerate(found.indexed_files):
        if of != table:
            continue
        if paths is None:
            every = found.index.addresses(table, columns, _literal_folders(found), found.not_indexed)
            connection.execute(f"SET VARIABLE {table}_files_{number} = {every}")
            text = f"getvariable('{table}_files_{number}')"
        else:
            text = f"[{', '.join(map(quoted, paths))}]"
        listed.append((columns, narrowable.of_indexed(table, columns, text)))
    return listed


def _files_of_index(found: LakeContents) -> str | None:
    """SQL of the files that the index knows, by the addresses that views read them from; None without an index."""
    if found.index is None or not found.index.is_attached:
        return None
    return found.index.files(_literal_folders(found), found.not_indexed)


def _literal_folders(found: LakeContents) -> dict[str, str]:
    # Names of runs and files have no character that a pattern could be made of.
    return {name: literal_path(address) for name, address in found.folders.items()}


def _create_manifest_table(connection: duckdb.DuckDBPyConnection, name: str, found: LakeContents) -> None:
    """The rows of manifests that were read, and those of the index."""
    read = found.rows.get(name, [])
    if name == "problems" and found.problems:
        read = [pa.Table.from_pylist(found.problems, schema=nullable_schema(MANIFEST_TABLES[name]))]
    is_indexed = found.index is not None and found.index.is_attached
    if not is_indexed and not read:
        return  # the table stays as it is, empty
    connection.execute(f'DROP TABLE "{name}"')
    if found.index is None or not is_indexed:
        _create_table(connection, name, pa.concat_tables(read))
        return
    text = found.index.table(name, found.not_indexed)
    if read:
        _create_table(connection, f"read_{name}", pa.concat_tables(read))
        text = f'SELECT * FROM "read_{name}" UNION ALL {text}'
    connection.execute(f'CREATE VIEW "{name}" AS {text}')


def _create_empty(connection: duckdb.DuckDBPyConnection, name: str, kinds: Mapping[str, str]) -> None:
    """A table without rows. One of the schema is a view with comments on what is in its files, as yet an empty table.

    To comment on a view takes longer the longer its text is, and the text with the paths of all files may be long.
    """
    if name not in TABLES:
        _declare_table(connection, name, kinds)
        return
    _declare_table(connection, _files_of(name), kinds)
    columns = ", ".join(map(_name, kinds))
    connection.execute(f"CREATE VIEW {_name(name)} AS SELECT {columns} FROM {_name(_files_of(name))}")
    connection.execute(f"COMMENT ON VIEW {_name(name)} IS {quoted(TABLES[name].doc)}")
    for column in TABLES[name].columns:
        unit = f" ({column.unit})" if column.unit else ""
        comment = quoted(column.doc + unit)
        connection.execute(f"COMMENT ON COLUMN {_name(name)}.{_name(column.name)} IS {comment}")


def _files_of(table: str) -> str:
    """The name of what a table of the schema shows."""
    return f"files_of_{table}"


def _declare_table(connection: duckdb.DuckDBPyConnection, name: str, kinds: Mapping[str, str]) -> None:
    declared = ", ".join(f"{_name(column)} {sql_type(kind)}" for column, kind in kinds.items())
    connection.execute(f"CREATE TABLE {_name(name)} ({declared})")


def _create_table(connection: duckdb.DuckDBPyConnection, name: str, content: pa.Table) -> None:
    connection.register("incoming", content)
    connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM incoming')
    connection.unregister("incoming")


def _insert(connection: duckdb.DuckDBPyConnection, name: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Add a few rows to a table. Arrow would import pandas, a quarter of a second, to see whether they are a frame."""
    if rows:
        marks = ", ".join([f"({', '.join('?' * len(rows[0]))})"] * len(rows))
        connection.execute(f'INSERT INTO "{name}" VALUES {marks}', [value for row in rows for value in row])


def empty(schema: pa.Schema) -> pa.Table:
    """A table without rows; `empty_table` of the schema would import pandas."""
    return pa.Table.from_batches([], schema=schema)


def _with_every_name(cache: Path) -> duckdb.DuckDBPyConnection:
    """A connection with every table, empty, and all views, macros and questions on them.

    DuckDB binds each question when it is made, which takes longer than reading a lake. What came of it is kept in
    `cache`, and copied as long as the SQL is the same.
    """
    tables, statements = _tables(), catalogue.statements()
    kept = cache / f".views-{hashlib.sha256(_made_of().encode()).hexdigest()}.duckdb"
    for _ in range(2):
        connection = duckdb.connect(":memory:")
        with contextlib.suppress(duckdb.Error):
            if not kept.is_file():
                _keep_every_name(kept, tables, statements)
            connection.execute(f"ATTACH {quoted(str(kept))} AS kept (READ_ONLY)")
            connection.execute("COPY FROM DATABASE kept TO memory (SCHEMA)")
            connection.execute("DETACH kept")
            return connection
        connection.close()
        with contextlib.suppress(OSError):
            kept.unlink(missing_ok=True)  # damaged
    connection = duckdb.connect(":memory:")
    _create_every_name(connection, tables, statements)
    return connection


def _made_of() -> str:
    """All names of tables, views, macros and questions, with what is behind them."""
    return f"{duckdb.__version__} {_tables()} {list(TABLES.values())} {catalogue.statements()}"


def _keep_every_name(path: Path, tables: Mapping[str, Mapping[str, str]], statements: dict[str, str]) -> None:
    """Make the database file that others copy. Raises duckdb.Error where it cannot be written."""
    try:
        with tempfile.TemporaryDirectory(prefix=".views-", dir=path.parent) as folder:
            temporary = Path(folder) / path.name
            with duckdb.connect(str(temporary)) as connection:
                _create_every_name(connection, tables, statements)
            for other in path.parent.glob(".views-*.duckdb"):
                other.unlink(missing_ok=True)
            os.replace(temporary, path)
    except OSError as error:
        raise duckdb.IOException(str(error)) from error


def _create_every_name(
    connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Mapping[str, str]], statements: dict[str, str]
) -> None:
    for name, kinds in tables.items():
        _create_empty(connection, name, kinds)
    _create_sql_views(connection, statements)


def _tables() -> dict[str, dict[str, str]]:
    """Columns and types of every table."""
    rates = {"metric": "string", "family": "string", "position": "int64"}
    return {name: table.kinds for name, table in TABLES.items()} | MANIFEST_TABLES | {catalogue.RATE_METRICS: rates}


def _create_sql_views(connection: duckdb.DuckDBPyConnection, statements: dict[str, str]) -> None:
    """Create all views, macros and questions; they may build on each other, so go round until all stand."""
    connection.execute("CREATE SCHEMA questions")
    waiting = dict(statements)
    while waiting:
        refused: dict[str, duckdb.Error] = {}
        for place, text in waiting.items():
            try:
                connection.execute(text)
            except duckdb.Error as error:
                refused[place] = error
        if len(refused) == len(waiting):
            # Not the one that lacks another one, if there is any: the other one's error is the cause.
            place, first = min(refused.items(), key=lambda item: "does not exist" in str(item[1]))
            raise QueryError(f"{place}: {_one_line(first)}") from first
        waiting = {place: waiting[place] for place in refused}


def _run(connection: duckdb.DuckDBPyConnection, text: str, values: dict[str, Any], what: str) -> pl.DataFrame:
    import polars as pl  # takes as long to import as a large lake to open, and `ibench runs` needs none of it

    try:
        if not values:
            return _of_relation(connection.sql(text))
        # A relation is bound when it is made and again when it is fetched: a quarter of the time of a question.
        table: pa.Table = connection.execute(text, values).to_arrow_table()
        if any("interval" in str(kind) for kind in table.schema.types):
            return _of_relation(connection.sql(text, params=values))
        return cast("pl.DataFrame", pl.from_arrow(table, rechunk=False))
    except (duckdb.Error, pl.exceptions.PolarsError) as error:
        raise QueryError(f"{what}: {_one_line(error)}", hint=_hint(error)) from error


def _of_relation(relation: duckdb.DuckDBPyRelation | None) -> pl.DataFrame:
    import polars as pl

    if relation is None:
        return pl.DataFrame()
    # polars has no intervals of months, days and microseconds: as text they can be read, if not added up.
    for name, kind in zip(relation.columns, relation.types, strict=True):
        if "INTERVAL" in str(kind):
            relation = relation.project(f"* REPLACE ({_name(name)}::VARCHAR AS {_name(name)})")
    frame: pl.DataFrame = relation.pl()
    return frame


def _hint(error: Exception) -> str | None:
    """What DuckDB suggests, or how a question is asked whose name stands there alone."""
    text = str(error)
    missing = re.search(r"with name (\w+) does not exist", text)
    known = catalogue.question_texts()
    if missing and missing[1] in known and f"questions.{missing[1]}" not in text.split("LINE ")[-1]:
        given = [_GIVEN.get(name, f"${name}") for name in catalogue.parameters_in_order(f"questions.{missing[1]}")]
        return f"{missing[1]} is a question: FROM questions.{missing[1]}({', '.join(given)})"
    hint = re.search(r"(?m)^(?:Did you mean|Candidate).*(?:\n\t.*)*", text)
    return re.sub(r"\s+", " ", hint[0]) if hint else None


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _one_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = next((line for line in lines if not line.startswith("LINE ")), "refused")
    where = next((line for line in lines if line.startswith("LINE ")), "")
    return f"{first} ({where})" if where else first
