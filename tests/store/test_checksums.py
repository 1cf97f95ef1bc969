"""Files are held against the checksums of their manifest."""

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.store.lakes import flip_bytes, rows
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake


def test_a_file_is_compared_with_its_checksum_once_and_again_when_it_was_touched(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_runs(workspace, Run())
    compared: list[str] = []
    digest = hashlib.file_digest

    def counting(file: Any, name: str) -> Any:
        compared.append(Path(os.readlink(f"/proc/self/fd/{file.fileno()}")).name)
        return digest(file, name)

    monkeypatch.setattr("ibench_lib.store.checksums.hashlib.file_digest", counting)
    monkeypatch.setattr("ibench_lib.store.checksums.YOUNG_NS", 0)
    reader.lake(workspace)
    assert {"ops.parquet", "steps.parquet"} <= set(compared)
    compared.clear()
    reader.lake(workspace)
    assert compared == []
    path = workspace.run_dir(Run().run_id) / "steps.parquet"
    times = path.stat()
    flip_bytes(path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    lake = reader.lake(workspace)
    assert compared == ["steps.parquet"]
    assert [row["file"] for row in rows(lake, "SELECT * FROM problems")] == ["steps.parquet"]
