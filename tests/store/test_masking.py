"""Where the mask of a run is put on, and that it outlives the runner."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ibench_lib.base.mask import Mask
from ibench_lib.store.manifest import Manifest, read_manifest
from ibench_lib.store.masking import kept_mask, masked
from ibench_lib.store.recover import recover
from ibench_lib.store.verify import verify
from ibench_lib.store.writer import RunWriter
from tests.synthetic import Run, die, flushed, manifest_of

pytestmark = pytest.mark.lake

PLACES = {"/srv/ws/data/runs/r1": "<run>", "/srv/ws": "<workspace>"}
# A host may have the name of anything.
NAMES = {"mariadb": "<host>", "demo": "<host>"}
MASK = Mask(PLACES, NAMES)
LOG = "mariadb: /srv/ws/data/runs/r1/server.log, and bytes that are no text: "


def told(**more: Any) -> Manifest:
    manifest = manifest_of(Run(warnings=("mariadb: /srv/ws/x is full",), error="/srv/ws/y: demo"))
    return manifest.model_copy(update={"run_id": "r1", "host": {"device": {"reason": "/srv/ws lies nowhere"}}, **more})


def test_free_text_loses_paths_and_names_and_what_identifies_a_run_stays() -> None:
    before = told()
    assert before.server is not None
    before.server.variables |= {"log_error": "/srv/ws/data/runs/r1/server.log", "slow": "demo-slow.log"}
    seen = masked(before, MASK)
    assert (seen.warnings, seen.error) == (["<host>: <workspace>/x is full"], "<workspace>/y: <host>")
    assert seen.host["device"]["reason"] == "<workspace> lies nowhere"
    assert seen.server is not None
    assert seen.server.variables["log_error"] == "<run>/server.log"
    assert seen.server.variables["slow"] == "<host>-slow.log"
    assert seen.server.flavour == "mariadb" and seen.experiment.name == "demo" and seen.cell == before.cell
    assert before.warnings == ["mariadb: /srv/ws/x is full"], "the one in memory stays as it is"
    assert masked(seen, MASK) == seen


def test_a_remote_server_has_folders_and_a_name_of_its_own() -> None:
    manifest = told(warnings=["db9 says: /mnt/fast/mysql/ib_logfile0, uid abc="])
    assert manifest.server is not None
    manifest.server.variables |= {
        "datadir": "/mnt/fast/mysql/",
        "basedir": "/opt/mysql",
        "plugin_dir": "/opt/mysql/lib/plugin/",
        "innodb_redo": "/mnt/fast/mysql/redo;/mnt/slow",
        "hostname": "db9",
        "server_uid": "abc=",
        "server_id": "1",
    }
    seen = masked(manifest, MASK)
    assert seen.server is not None
    assert seen.server.variables == {
        "innodb_purge_threads": "4",
        "datadir": "<datadir>/",
        "basedir": "<basedir>",
        "plugin_dir": "<basedir>/lib/plugin/",
        "innodb_redo": "<datadir>/redo;/mnt/slow",
        "hostname": "<host>",
        "server_uid": "<server_uid>",
        "server_id": "1",
    }
    assert seen.warnings == ["<host> says: <datadir>/ib_logfile0, uid <server_uid>"]


def begin(tmp_path: Path) -> RunWriter:
    writer = RunWriter(tmp_path / "r1", mask=MASK, flush_every_s=0.01)
    (writer.run_dir / "my.cnf").write_text("[mysqld]\nssl_ca=/srv/ws/ca.pem\n")
    (writer.run_dir / "server.log").write_bytes(LOG.encode() + b"\xff\xfe\n")
    writer.write_manifest(told(status="running", error=None))
    writer.append("innodb_status", tick=1, t_s=1.0, text="file /srv/ws/a\nmariadb")
    writer.append("processlist", tick=1, t_s=1.0, id=1, user="demo", state=None, info="LOAD DATA INFILE '/srv/ws/b'")
    writer.append("device_samples", tick=1, t_s=1.0, device="demo", **NUMBERS)
    flushed(writer)
    return writer


NUMBERS = {
    **dict.fromkeys(("reads", "read_bytes", "writes", "written_bytes", "in_flight"), 1),
    **dict.fromkeys(("read_s", "write_s", "busy_s", "queue_s"), 1.0),
    "holds_data": True,
}


def is_masked(run_dir: Path) -> None:
    assert verify(run_dir) == []
    assert (run_dir / "my.cnf").read_text() == "[mysqld]\nssl_ca=<workspace>/ca.pem\n"
    log = (run_dir / "server.log").read_bytes()
    assert log == b"<host>: <run>/server.log, and bytes that are no text: \xff\xfe\n"
    (status,) = pq.read_table(run_dir / "innodb_status.parquet").to_pylist()
    (process,) = pq.read_table(run_dir / "processlist.parquet").to_pylist()
    (device,) = pq.read_table(run_dir / "device_samples.parquet").to_pylist()
    assert status["text"] == "file <workspace>/a\n<host>"
    assert (process["user"], process["info"]) == ("<host>", "LOAD DATA INFILE '<workspace>/b'")
    assert device["device"] == "demo", "a name is no free text"
    assert read_manifest(run_dir).warnings[0] == "<host>: <workspace>/x is full"
    assert not [path for path in run_dir.rglob("*") if path.is_file() and b"/srv/" in path.read_bytes()]


def test_a_server_has_its_paths_as_long_as_it_runs_and_a_sealed_run_has_none(tmp_path: Path) -> None:
    writer = begin(tmp_path)
    assert "/srv/ws/ca.pem" in (writer.run_dir / "my.cnf").read_text(), "the server is started from it"
    assert read_manifest(writer.run_dir).warnings == ["<host>: <workspace>/x is full"]
    writer.seal(told())
    is_masked(writer.run_dir)


@pytest.mark.parametrize("sealed", [False, True])
def test_what_a_dead_runner_left_is_masked_when_it_is_recovered(tmp_path: Path, sealed: bool) -> None:
    writer = begin(tmp_path)
    if sealed:
        writer.seal_step(told(status="running", error=None))
    die(writer)
    kept = writer.run_dir / "journal" / "mask.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert json.loads(kept.read_text())["places"] == PLACES
    assert recover(writer.run_dir).status == "failed"
    is_masked(writer.run_dir)


def test_a_run_of_before_masks_is_recovered_as_it_is(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "r1")
    (writer.run_dir / "server.log").write_text(LOG)
    writer.write_manifest(told(status="running"))
    die(writer)
    assert not kept_mask(writer.run_dir)
    recover(writer.run_dir)
    assert (writer.run_dir / "server.log").read_text() == LOG
    assert read_manifest(writer.run_dir).warnings[0] == "mariadb: /srv/ws/x is full"
