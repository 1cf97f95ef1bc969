"""Runs copied into the sample: smaller, with the same rows, and with a manifest that says what is there."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest, with_checksum
from ibench_lib.store.verify import verify
from tests.synthetic import Run, write_runs
from tools.ship_runs import ROOT, main, ship

pytestmark = pytest.mark.lake


def test_rows_stay_the_same_and_every_file_is_what_the_manifest_says(tmp_path: Path) -> None:
    run = next((ROOT / "data" / "sample").glob("*-stalls-*"))
    size = ship(run, tmp_path)
    copy = tmp_path / run.name
    assert size == sum(path.stat().st_size for path in copy.iterdir())
    assert {path.name for path in copy.iterdir()} == {path.name for path in run.iterdir()}
    for path in run.glob("*.parquet"):
        assert pq.read_table(copy / path.name).equals(pq.read_table(path)), path.name
    assert (copy / "server.log").read_bytes() == (run / "server.log").read_bytes()
    assert read_manifest(copy).run_id == run.name
    assert reader.sql(reader.lake(str(tmp_path)), "FROM problems").is_empty()


def test_texts_that_are_vouched_for_stay_as_they_are(tmp_path: Path) -> None:
    write_runs(Workspace(tmp_path / "home"), Run())
    (run,) = (tmp_path / "home" / "data" / "runs").iterdir()
    (run / "my.cnf").write_text("[mysqld]\n")
    manifest = json.loads((run / "manifest.json").read_bytes())
    digest = hashlib.sha256(b"[mysqld]\n").hexdigest()
    manifest["files"]["my.cnf"] = {"rows": 0, "bytes": 9, "sha256": digest}
    (run / "manifest.json").write_bytes(with_checksum(manifest))
    (tmp_path / "sample").mkdir()
    ship(run, tmp_path / "sample")
    assert verify(tmp_path / "sample" / run.name) == []
    assert (tmp_path / "sample" / run.name / "my.cnf").read_text() == "[mysqld]\n"


def test_only_complete_runs_of_the_experiment_are_copied_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, to = tmp_path / "home", tmp_path / "sample"
    (home / "data").mkdir(parents=True)
    (home / "data" / "runs").symlink_to(ROOT / "data" / "sample")
    to.mkdir()
    monkeypatch.setattr("sys.argv", ["ship_runs", "stalls", "--from", str(home), "--to", str(to)])
    assert main() == 0
    (copied,) = to.iterdir()
    assert read_manifest(copied).experiment.name == "stalls"
    assert "1 run, " in capsys.readouterr().out
    assert main() == 1
    assert f"{copied.name}: already there" in capsys.readouterr().out
