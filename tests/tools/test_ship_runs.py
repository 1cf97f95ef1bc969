"""Runs copied into the sample: smaller, with the same rows, and with a manifest that says what is there."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
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
