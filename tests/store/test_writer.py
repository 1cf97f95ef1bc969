import hashlib
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ibench_lib.errors import CaptureFailed, LakeError
from ibench_lib.schema import TABLES
from ibench_lib.store.manifest import read_manifest
from ibench_lib.store.writer import RunWriter
from tests.store.written import manifest, second
from tests.synthetic import flushed

pytestmark = pytest.mark.lake


def probe(**changes: Any) -> dict[str, Any]:
    row = {
        "step_id": 0,
        "step": "l.i0",
        "client": 1,
        "probe": "get_min",
        "start_s": 0.5,
        "seconds": 0.25,
        "result": None,
    }
    return {**row, **changes}


def names(run_dir: Path) -> set[str]:
    return {path.name for path in run_dir.iterdir()}


def test_a_sealed_run_has_its_tables_with_the_declared_schema_and_a_true_manifest(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "runs" / "r1")
    writer.append("probes", **probe(client=2))
    writer.append("probes", **probe(client=1, result=7))
    for number in range(3):
        writer.append("ops", **second(number))
    writer.seal(manifest("r1", status="complete"))
    run_dir = tmp_path / "runs" / "r1"
    stored = read_manifest(run_dir)
    assert set(stored.files) == {"probes.parquet", "ops.parquet", "response_times.parquet"}
    assert names(run_dir) == {*stored.files, "manifest.json"}
    for file_name, record in stored.files.items():
        path = run_dir / file_name
        data = pq.read_table(path)
        table = TABLES[path.stem]
        assert data.schema.equals(table.arrow_schema)
        assert {key.decode(): value.decode() for key, value in data.schema.metadata.items()} == table.file_metadata
        content = path.read_bytes()
        assert (record.rows, record.bytes) == (data.num_rows, len(content))
        assert record.sha256 == hashlib.sha256(content).hexdigest()
        column = pq.ParquetFile(path).metadata.row_group(0).column(0)
        assert (column.compression, column.is_stats_set) == ("ZSTD", True)
    rows = pq.read_table(run_dir / "probes.parquet").to_pylist()
    assert [(row["run_id"], row["client"], row["result"]) for row in rows] == [("r1", 1, 7), ("r1", 2, None)]
    (times,) = pq.read_table(run_dir / "response_times.parquet").to_pylist()
    assert (times["timing"], times["responses"], times["max_us"]) == ("service", 9, 602.0)
    assert (times["bins"], times["counts"]) == ([573, 590], [6, 3])


def test_steps_are_sealed_one_by_one_and_the_run_as_a_whole(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "r1")
    running = manifest("r1")
    for step_id in range(3):
        for worker in (1, 0):
            for number in (1, 0):
                writer.append("ops", **second(number, step_id, worker))
        if step_id < 2:
            writer.seal_step(running)
            assert read_manifest(tmp_path / "r1").sealed_generation == step_id + 1
    files = set(read_manifest(tmp_path / "r1").files)
    assert files == {f"{table}.{part}.parquet" for table in ("ops", "response_times") for part in (1, 2)}
    assert files <= names(tmp_path / "r1")
    writer.seal(manifest("r1", status="complete"))
    assert names(tmp_path / "r1") == {"manifest.json", "ops.parquet", "response_times.parquet"}
    rows = pq.read_table(tmp_path / "r1" / "ops.parquet").to_pylist()
    order = [(row["step_id"], row["worker"], row["second"]) for row in rows]
    assert order == [(step, worker, number) for step in range(3) for worker in (0, 1) for number in (0, 1)]


def test_a_later_row_takes_the_place_of_one_with_its_key_where_the_table_says_so(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "r1", flush_every_s=0.01)
    row = {"step_id": 0, "step": "s0", "kind": "load", "clients": 1, "start_s": 1.0}
    writer.append("steps", **row, status="running", end_s=1.0, duration_s=0.0)
    flushed(writer)
    writer.append("steps", **row, status="complete", end_s=3.0, duration_s=2.0)
    writer.seal(manifest("r1"))
    (stored,) = pq.read_table(tmp_path / "r1" / "steps.parquet").to_pylist()
    assert (stored["status"], stored["duration_s"]) == ("complete", 2.0)


@pytest.mark.fault("F32")
def test_a_run_directory_is_made_once(tmp_path: Path) -> None:
    RunWriter(tmp_path / "r1")
    with pytest.raises(LakeError, match="already exists"):
        RunWriter(tmp_path / "r1")


def test_a_null_where_none_may_be_and_an_unknown_column_are_refused(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "r1")
    writer.append("probes", **probe())
    with pytest.raises(LakeError, match=r"probes\.seconds has NULLs"):
        writer.append("probes", **probe(client=2, seconds=None))
    with pytest.raises(LakeError, match="table probes has no column minutes"):
        writer.append("probes", **probe(client=2, minutes=1))
    writer.seal(manifest("r1"))
    assert pq.read_metadata(tmp_path / "r1" / "probes.parquet").num_rows == 1


def test_a_row_that_does_not_fit_ends_a_run_unless_it_is_a_collectors(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "r1", flush_every_s=0.01)
    writer.append("server_samples", t_s=1.0, questions=2**63)
    writer.append("server_samples", t_s=2.0, questions=7)
    flushed(writer)
    writer.check()
    writer.append("ops", **second(0, ops=2**63))
    flushed(writer)
    with pytest.raises(CaptureFailed, match="capture cannot be written"):
        writer.check()
    writer.seal(manifest("r1"))
    warnings = read_manifest(tmp_path / "r1").warnings
    assert len(warnings) == 2 and warnings[0].startswith("server_samples: a row was left out")
    (kept,) = pq.read_table(tmp_path / "r1" / "server_samples.parquet").to_pylist()
    assert kept["t_s"] == 2.0
