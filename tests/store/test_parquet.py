"""The sealed form of a table: both of its readers read it, damage shows, digits that are noise are gone."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.scale_lake import Size, plan, step_ops
from ibench_lib.schema import CPU_S, SCHEMA_MINOR, SCHEMA_VERSION, TABLES, Table
from ibench_lib.store.parquet import write_table

OPS = TABLES["ops"]


@pytest.fixture(scope="module")
def piece() -> pa.Table:
    """A minute of qr1000, with paced and unpaced work."""
    step = plan(Size(scale=0.011), 1.0, 1.0)[7]
    assert step.name == "qr1000"
    return step_ops(np.random.default_rng(1), "run", step, clients=2)


def test_what_was_written_is_read_by_arrow_and_duckdb(tmp_path: Path, piece: pa.Table) -> None:
    path = tmp_path / "ops.parquet"
    record = write_table(path, OPS, [piece, piece.slice(0, 10)])
    read = pq.read_table(path, page_checksum_verification=True)
    assert record.rows == read.num_rows == piece.num_rows + 10
    assert read.schema.equals(OPS.arrow_schema)
    exact = [column.name for column in OPS.columns if column.resolution is None]
    assert read.slice(0, piece.num_rows).select(exact).equals(piece.select(exact))
    through_duckdb = duckdb.connect().execute(f"FROM '{path}'").fetchall()
    assert through_duckdb == [tuple(row.values()) for row in read.to_pylist()]


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_types_are_read_back_without_arrows_own_schema(tmp_path: Path, table: Table) -> None:
    path = tmp_path / "table.parquet"
    write_table(path, table, [table.arrow_schema.empty_table()])
    assert b"ARROW:schema" not in path.read_bytes()
    read = pq.read_schema(path)
    assert read.equals(table.arrow_schema)
    metadata = {key.decode(): value.decode() for key, value in read.metadata.items()}
    assert metadata["ibench_table"] == table.name
    assert metadata["ibench_schema_version"] == f"{SCHEMA_VERSION}.{SCHEMA_MINOR}"
    assert json.loads(metadata["ibench_units"]) == {column.name: column.unit for column in table.columns if column.unit}


def test_columns_with_a_resolution_are_rounded_to_it(tmp_path: Path, piece: pa.Table) -> None:
    path = tmp_path / "ops.parquet"
    write_table(path, OPS, [piece])
    read = pq.read_table(path)
    steps = {column.name: column.resolution for column in OPS.columns if column.resolution is not None}
    assert steps["service_max_us"] == steps["service_sum_us"] == steps["intended_max_us"] == 1
    assert steps["cpu_user_s"] == CPU_S
    for name, step in steps.items():
        before, after = (table[name].to_numpy() for table in (piece, read))
        assert np.array_equal(np.isnan(before), np.isnan(after))
        assert np.nanmax(np.abs(after - before), initial=0) <= step / 2
        assert np.array_equal(after, np.rint(after / step) * step, equal_nan=True)


def test_a_flipped_bit_in_a_page_is_found(tmp_path: Path, piece: pa.Table) -> None:
    path = tmp_path / "ops.parquet"
    write_table(path, OPS, [piece])
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(OSError, match="CRC"):
        pq.read_table(path, page_checksum_verification=True)
