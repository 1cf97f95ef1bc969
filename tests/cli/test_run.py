"""`ibench run`: what is refused, what fails, and Ctrl-C."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ibench_lib.configs.resolve import resolve
from ibench_lib.paths import Workspace
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import find
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from tests.cli.tiny import write
from tests.command import PROGRAM, ibench, refused
from tests.faults import Victim, survivors
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.lake


def test_a_cell_that_does_not_fit_on_the_disk_is_refused_before_it_runs(
    build: Build, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(workspace)
    path.write_text(path.read_text().replace("scale: 0.01", "scale: 1\ncapture: {profile: {every_s: 80000}}"))
    free = 100 << 30
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(2 * free, free, free))
    checked = ibench(workspace, "experiment", "check", str(path))
    refused(
        checked, "not enough space in ", "of it, 137.4 GB of redo log (innodb_log_file_size=128G, cy10a.mariadb.cnf:"
    )
    assert "1 cell, about" in checked.stdout, "the table stands above it"
    planned = ibench(workspace, "experiment", "plan", str(path))
    assert planned.returncode == 0
    for said in (checked.stdout, planned.stdout):
        assert "warning: `profile` records 5 s every 80000 s, so it may record nothing in l.i0 (" in said


def test_a_store_without_workers_who_would_push_to_it(workspace: Workspace) -> None:
    refused(ibench(workspace, "run", str(write(workspace)), "--store", "s3://b/l"), "--store", "--scheduler")


def test_a_server_that_does_not_start_shows_its_error_log(workspace: Workspace, tmp_path: Path) -> None:
    basedir = tmp_path / "broken"
    (basedir / "bin").mkdir(parents=True)
    binary = basedir / "bin" / "mysqld"
    binary.write_text(
        """#!/bin/sh
        case "$*" in
        *--version*) echo 'mysqld  Ver 8.0.99 for Linux on x86_64 (a broken build)' ;;
        *--initialize*) exit 0 ;;
        *--help*)
            printf 'Variables (--variable-name=value)\\n---- ----\\n'
            printf '%s (No default value)\\n' OPTIONS
            echo ;;
        *)
            for option in "$@"; do
                case $option in --log-error=*) echo 'the disk is on fire' >> "${option#*=}" ;; esac
            done
            exit 7 ;;
        esac
        """
    )
    known = " ".join(option.key for option in resolve(["cy10a"], find("mysql").rules((8, 0, 99)), 1.0).options)
    binary.write_text(binary.read_text().replace("OPTIONS", f"{known} log_bin"))
    binary.chmod(0o755)
    result = ibench(workspace, "run", str(write(workspace)), IBENCH_BASEDIR=str(basedir))
    refused(result, "build system (8.0.99) does not start (exit 7)", "the disk is on fire")
    (run_dir,) = workspace.runs.iterdir()
    assert read_manifest(run_dir).status == "failed"
    assert list(workspace.sandboxes.iterdir()) == []


@pytest.mark.long
def test_ctrl_c_in_the_middle(build: Build, workspace: Workspace) -> None:
    path = write(workspace, l_i1_rows=2_000_000_000, steps="l.i0, l.x, l.i1")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "run", str(path)],
        env={**os.environ, "IBENCH_HOME": str(workspace.root), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    seconds = "SELECT count(DISTINCT second) FROM ops WHERE step = 'l.i1'"
    until(lambda: reader.sql(reader.lake(workspace), seconds).item() >= 2, "l.i1 has made two seconds", every_s=0.2)
    runner = Victim(process.pid)
    children = runner.family()
    assert len(children) >= 5, "the server and four clients"
    runner.interrupt()
    assert process.stdout is not None
    told = next(line for line in process.stdout if "stopping after this cell" in line)
    assert "press Ctrl-C again to stop now" in told
    assert process.poll() is None, "the first one lets the cell end"
    runner.interrupt()
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "interrupted" in said and "Traceback" not in said
    assert survivors(children) == []
    (run_dir,) = workspace.runs.iterdir()
    manifest = read_manifest(run_dir)
    assert (manifest.status, manifest.failed_step) == ("interrupted", "l.i1")
    kept = ibench(workspace, "sql", "-f", "csv", "SELECT count(DISTINCT second) AS n FROM ops WHERE step = 'l.i1'")
    assert int(kept.stdout.split()[1]) >= 2
    listed = ibench(workspace, "runs").stdout
    assert "interrupted" in listed
