"""What the capture reports is what a manifest keeps, and a later version of it may know more."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path

import pytest

from ibench_lib.base.collector_report import CollectorReport
from ibench_lib.errors import LakeError
from ibench_lib.store.manifest import Manifest, parse_manifest, read_manifest, write_manifest

MANIFEST = {
    "schema_version": 1,
    "tool_version": "0",
    "run_id": "r",
    "status": "complete",
    "origin_wall": "2026-01-01T00:00:00+00:00",
    "experiment": {"name": "e", "title": "e", "text": ""},
    "cell": {"build": "b", "config": "c", "dbms": "b.c", "setup": "s", "repeat": 1, "fingerprint": "0"},
    "workload": {},
    "scale": 1.0,
    "config": {"my_cnf": "", "fragments": {}},
    "host": {},
    "versions": {},
}
REPORT = CollectorReport("host", 1, 60, 2, 0.25, 0.5, "2 were late")


def test_a_report_survives_the_manifest(tmp_path: Path) -> None:
    write_manifest(tmp_path, Manifest.model_validate({**MANIFEST, "collectors": [REPORT]}))
    assert read_manifest(tmp_path).collectors == [REPORT]
    (stored,) = json.loads((tmp_path / "manifest.json").read_text())["collectors"]
    assert list(stored) == [field.name for field in fields(CollectorReport)]


def test_a_stored_report_has_finite_numbers() -> None:
    stored = {**asdict(REPORT), "cpu_s": float("inf")}
    with pytest.raises(LakeError, match=r"not a finite number"):
        parse_manifest("r", json.dumps({**MANIFEST, "collectors": [stored]}).encode())


def test_a_report_of_a_later_version_loads_and_so_does_one_without_a_reason() -> None:
    stored = {name: value for name, value in asdict(REPORT).items() if name != "reason"} | {"colour": "blue"}
    manifest = parse_manifest("r", json.dumps({**MANIFEST, "collectors": [stored]}).encode())
    assert manifest.collectors == [CollectorReport("host", 1, 60, 2, 0.25, 0.5, None)]
