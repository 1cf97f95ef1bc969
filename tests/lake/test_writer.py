import hashlib
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ibench_lib.errors import LakeError
from ibench_lib.lake.manifest import Manifest, read_manifest, write_manifest
from ibench_lib.lake.writer import RunWriter
from ibench_lib.schema import SCHEMA_VERSION, TABLES


def manifest(run_id: str, **changes: Any) -> Manifest:
    return Manifest.model_validate(
        {
            "tool_version": "0",
            "run_id": run_id,
            "status": "running",
            "origin_wall": "2026-01-01T00:00:00+00:00",
            "experiment": {"name": "e", "title": "t", "text": ""},
            "cell": {"build": "b", "config": "c", "dbms": "b.c", "setup": "s", "repeat": 1, "fingerprint": "f"},
            "workload": {},
            "scale": 1.0,
            "config": {"my_cnf": "", "fragments": {}},
            "host": {},
            "versions": {},
            **changes,
        }
    )


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


def test_a_sealed_run_has_every_table_with_the_declared_schema_and_a_true_manifest(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "runs" / "r1")
    writer.append("probes", **probe(client=2))
    writer.append("probes", **probe(client=1, result=7))
    writer.seal(manifest("r1", status="complete"))
    stored = read_manifest(tmp_path / "runs" / "r1")
    assert set(stored.files) == {table.file_name for table in TABLES.values()}
    for table in TABLES.values():
        path = tmp_path / "runs" / "r1" / table.file_name
        data = pq.read_table(path)
        assert data.schema.equals(table.arrow_schema, check_metadata=True)
        record = stored.files[table.file_name]
        content = path.read_bytes()
        assert (record.rows, record.bytes) == (data.num_rows, len(content))
        assert record.sha256 == hashlib.sha256(content).hexdigest()
    rows = pq.read_table(tmp_path / "runs" / "r1" / "probes.parquet").to_pylist()
    assert [(row["run_id"], row["client"], row["result"]) for row in rows] == [("r1", 1, 7), ("r1", 2, None)]


def test_a_run_directory_is_made_once(tmp_path: Path) -> None:
    RunWriter(tmp_path / "r1")
    with pytest.raises(LakeError, match="exists already"):
        RunWriter(tmp_path / "r1")


def test_a_null_where_none_may_be_is_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "r1")
    writer.append("probes", **probe())
    writer.flush()
    writer.append("probes", **probe(client=2, seconds=None))
    with pytest.raises(LakeError, match=r"probes\.seconds has NULLs"):
        writer.flush()
    assert pq.read_metadata(tmp_path / "r1" / "probes.parquet").num_rows == 1


def test_flush_keeps_no_temporary_files(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "r1")
    writer.flush()
    writer.append("probes", **probe())
    writer.flush()
    assert {path.name for path in (tmp_path / "r1").iterdir()} == {table.file_name for table in TABLES.values()}


def test_manifests_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    run_dir = tmp_path / "r1"
    run_dir.mkdir()
    with pytest.raises(LakeError, match="run r1: no manifest"):
        read_manifest(run_dir)
    (run_dir / "manifest.json").write_text("{")
    with pytest.raises(LakeError, match=r"run r1: manifest\.json is unreadable"):
        read_manifest(run_dir)
    write_manifest(run_dir, manifest("r1", schema_version=SCHEMA_VERSION + 1, tool_version="9.9"))
    with pytest.raises(LakeError, match=f"has format {SCHEMA_VERSION + 1}") as caught:
        read_manifest(run_dir)
    assert "9.9" in (caught.value.hint or "")
    (run_dir / "manifest.json").write_text(f'{{"schema_version": {SCHEMA_VERSION}}}')
    with pytest.raises(LakeError, match="tool_version"):
        read_manifest(run_dir)


def test_a_manifest_survives_unknown_keys_of_a_later_minor_version(tmp_path: Path) -> None:
    text = manifest("r1").model_dump_json()
    (tmp_path / "manifest.json").write_text(text.replace('"run_id"', '"later": {"a": 1}, "run_id"', 1))
    assert read_manifest(tmp_path).run_id == "r1"
