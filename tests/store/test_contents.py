"""What a file of a run may not hold, whatever its checksum: each is refused with a reason, before it is used."""

from __future__ import annotations

import tempfile
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ibench_lib.schema import OPS, Table
from ibench_lib.store.contents import check, check_rows
from ibench_lib.store.manifest import FileRecord
from tests.store.written import second

RUN = "r1"


def rows(*changes: dict[str, Any]) -> pa.Table:
    """Rows of `ops`, one a second."""
    found = [{"run_id": RUN, **second(number, **change)} for number, change in enumerate(changes)]
    schema = pa.schema([field.with_nullable(True) for field in OPS.arrow_schema])
    return pa.Table.from_pylist(found, schema=schema)


def checked(data: pa.Table, table: Table = OPS, *, with_rows: bool = True, **record: int) -> pa.Schema:
    with tempfile.TemporaryFile() as file:
        pq.write_table(data, file, store_schema=False)
        file.flush()
        of_file = FileRecord.model_validate({"rows": data.num_rows, "bytes": file.tell(), "sha256": "", **record})
        schema = check(file, table, of_file)
        if with_rows:
            check_rows(file, table, RUN)
        return schema


def test_rows_of_the_table_are_good_whatever_may_be_absent() -> None:
    data = rows({}, {"service_max_us": None}, {"service_bins": [], "service_counts": []})
    assert checked(data).names == data.column_names
    assert checked(data.drop_columns(["deadlocks", "cpu_user_s"]))
    assert checked(data.slice(0, 0))
    assert checked(data.append_column("of_a_later_version", pa.nulls(3, pa.float64())))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ops": None}, "column ops: it has NULLs and may not"),
        ({"service_sum_us": float("nan")}, "column service_sum_us: it has a value that is not a finite number"),
        ({"cpu_user_s": float("-inf")}, "column cpu_user_s: it has a value that is not a finite number"),
        ({"service_max_us": 1e300}, r"column service_max_us: 1e\+300 is not a possible value"),
        ({"rows": 2**60}, "column rows: 1152921504606846976 is not a possible value"),
        ({"worker": -1}, "column worker: -1 is less than 0"),
        ({"step": "x" * 20_000}, "column step: a text of 20000 bytes; it may have 10000"),
        ({"service_bins": [1, 2, 3]}, "service_bins and service_counts are not equally long"),
        ({"service_bins": [1, 65535]}, "column service_bins: there is no bin 65535"),
        ({"service_bins": None}, "service_bins and service_counts are not equally long"),
        ({"ops": None}, "column ops: it has NULLs and may not"),
        ({"errors": -1}, "column errors: -1 is less than 0"),
        ({"run_id": "r2"}, "it has rows of another run"),
        ({"second": 0}, "two rows have the same step_id, worker, operation, second"),
    ],
)
def test_a_value_that_cannot_be_is_named_wherever_it_is(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}$"):
        checked(rows({}, change, {}))


def test_a_number_that_the_column_cannot_hold_is_named() -> None:
    data = rows({}, {})
    wide = data.set_column(1, "step_id", pa.array([0, 2**40], pa.int64()))
    with pytest.raises(ValueError, match=r"^column step_id: .*not in range"):
        checked(wide)


def test_a_text_that_is_none_is_named() -> None:
    data = rows({}, {})
    broken = pa.Array.from_buffers(pa.string(), 2, pa.array([b"ok", b"\xff\xfe"]).buffers())
    with pytest.raises(ValueError, match=r"^column step: .*UTF8"):
        checked(data.set_column(2, "step", broken))


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"rows": 4}, "^3 rows, but the manifest says 4$"),
        ({"rows": 2}, "^3 rows, but the manifest says 2$"),
    ],
)
def test_the_number_of_rows_is_that_of_the_manifest(record: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        checked(rows({}, {}, {}), with_rows=False, **record)


def test_a_small_file_cannot_have_very_many_rows() -> None:
    data = pa.table({"run_id": pa.DictionaryArray.from_arrays(pa.array([0] * 1_000_100, pa.int8()), [RUN])})
    with pytest.raises(ValueError, match=r"^1000100 rows: a file of 0 bytes of this table has at most 1000000$"):
        checked(data, with_rows=False, bytes=0)


def test_equal_rows_at_the_end_of_one_batch_and_the_beginning_of_the_next_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ibench_lib.store.contents._BATCH", 2)
    with pytest.raises(ValueError, match="two rows have the same"):
        checked(rows({}, {}, {"second": 1}))
