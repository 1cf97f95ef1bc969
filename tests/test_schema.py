import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ibench_lib.paths import Workspace
from ibench_lib.schema import SCHEMA_MINOR, SCHEMA_VERSION, TABLES, Table

UNIT_SUFFIXES = {
    "_us": "us",
    "_s": "s",
    "_per_s": "rows/s",
    "_bytes": "bytes",
    "seconds": "s",
    "frequency": "Hz",
    **{f"{what}_per_s": f"{what}/s" for what in ("ops", "errors", "retries")},
}
# Each counter, and each published figure, has a unit of its own; a share has none.
UNITS_BY_ROW = {
    ("server_counters", "real_value"),
    ("published", "value"),
    ("step_counters", "start_value"),
    ("step_counters", "end_value"),
    ("perf_counters", "running"),
    ("steps", "client_limit_share"),
}

tables = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())


@tables
def test_a_table_names_each_column_once_and_its_key_is_never_null(table: Table) -> None:
    columns = {column.name: column for column in table.columns}
    assert len(columns) == len(table.columns)
    assert table.columns[0].name == "run_id"
    assert table.key[0] == "run_id"
    assert not [name for name in table.key if columns[name].nullable]
    assert TABLES[table.name] is table


@tables
def test_names_tell_the_unit(table: Table) -> None:
    for column in table.columns:
        suffix = next((s for s in sorted(UNIT_SUFFIXES, key=len, reverse=True) if column.name.endswith(s)), None)
        if suffix:
            assert column.unit == UNIT_SUFFIXES[suffix], column
        elif pa.types.is_floating(column.type) and (table.name, column.name) not in UNITS_BY_ROW:
            pytest.fail(f"{table.name}.{column.name} is measured and its name has no unit")


@tables
def test_a_column_that_may_be_null_says_when_or_stands_for_what_a_server_may_not_tell(table: Table) -> None:
    for column in table.columns:
        assert column.doc
        if "NULL" in column.doc:
            assert column.nullable, f"{table.name}.{column.name}: {column.doc}"


@tables
def test_the_description_says_of_every_column_that_counts_up_that_it_does(table: Table) -> None:
    said = {column.name for column in table.columns if "cumulative" in column.doc}
    assert said == {column.name for column in table.columns if column.counts_up}


@tables
def test_types_units_and_version_survive_parquet(table: Table, workspace: Workspace) -> None:
    path = workspace.root / table.file_name
    pq.write_table(table.arrow_schema.empty_table(), path)
    read = pq.read_schema(path)
    assert read.equals(table.arrow_schema, check_metadata=True)
    assert (read.metadata or {})[b"ibench_schema_version"] == f"{SCHEMA_VERSION}.{SCHEMA_MINOR}".encode()
    for column in table.columns:
        field = read.field(column.name)
        assert (field.type, field.nullable) == (column.type, column.nullable)
        metadata = field.metadata or {}
        assert metadata[b"unit"].decode() == column.unit


def test_table_and_column_names_are_plain_sql_names() -> None:
    for table in TABLES.values():
        for name in (table.name, *(column.name for column in table.columns)):
            assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
