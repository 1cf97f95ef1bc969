"""Manifests of other versions, and such as cannot be read."""

from pathlib import Path

import pytest

from ibench_lib.errors import LakeError
from ibench_lib.schema import SCHEMA_VERSION
from ibench_lib.store.manifest import read_manifest, write_manifest
from tests.store.written import manifest


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
