import fcntl
from collections import namedtuple
from pathlib import Path

import pytest

from ibench_lib.cli import doctor
from ibench_lib.client.driver import CoreState
from ibench_lib.paths import Workspace
from ibench_lib.paths import workspace as the_workspace
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox_directory import MARKER
from tests.command import watched


def finding(name: str, workspace: Workspace) -> doctor.Finding:
    (found,) = (finding for finding in doctor.examine(workspace) if finding.name == name)
    return found


def test_a_machine_that_runs_these_tests_lacks_nothing_and_is_not_changed(build: Build, workspace: Workspace) -> None:
    findings = doctor.examine(workspace)
    assert [finding for finding in findings if finding.status == "missing"] == []
    assert len({finding.name for finding in findings}) == len(findings)
    assert build.version in finding("server", workspace).found
    assert finding("server initialiser", workspace).status == "ok"
    assert list(workspace.root.iterdir()) == []


def test_it_imports_only_what_it_shows_and_asks_a_program_once(workspace: Workspace, tmp_path: Path) -> None:
    """Its time is that of its imports and of the programs that it starts."""
    server = tmp_path / "basedir" / "bin" / "mysqld"
    server.parent.mkdir(parents=True)
    server.write_text("#!/bin/sh\necho 'mysqld  Ver 8.4.3 for Linux on x86_64 (MySQL Community Server - GPL)'\n")
    server.chmod(0o755)
    programs = {"IBENCH_BASEDIR": str(server.parents[1]), "IBENCH_CHROMIUM": "/bin/true"}
    modules, started = watched(workspace, "doctor", **programs)
    assert {"ibench_lib.cli.doctor", "ibench_lib.workloads.sysbench.program"} <= modules
    of_others = {"cryptography", "duckdb", "numpy", "polars", "psutil", "pyarrow", "pydantic", "pymysql", "ruamel"}
    assert of_others & modules == set()
    assert started.count([str(server), "--no-defaults", "--version"]) == 1
    assert [command for command in started if started.count(command) > 1] == []


def test_whatever_is_not_ok_says_how_to_mend_it(monkeypatch: pytest.MonkeyPatch, workspace: Workspace) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("ibench_lib.servers.on_this_machine._SYSTEM_FOLDERS", ())
    monkeypatch.setattr("ibench_lib.base.chromium._FOLDERS", "")
    monkeypatch.setattr("ibench_lib.base.debian._PATH", "/nonexistent")
    monkeypatch.delenv("IBENCH_BASEDIR", raising=False)
    monkeypatch.delenv("IBENCH_CHROMIUM", raising=False)
    findings = {finding.name: finding for finding in doctor.examine(workspace)}
    assert findings["server"].status == findings["server initialiser"].status == "missing"
    assert "ibench servers install" in (findings["server"].fix or "")
    assert findings["chromium"].status == findings["perf"].status == findings["apt"].status == "warning"
    assert all(finding.fix for finding in findings.values() if finding.status != "ok")


@pytest.mark.parametrize(
    ("state", "status", "found"),
    [
        (CoreState("compiled 0123456789ab"), "ok", "compiled 0123456789ab"),
        (CoreState("Python", "not built"), "warning", "Python's, which takes more CPU: not built"),
        (CoreState("missing", "IBENCH_CORE is 1, but ..."), "missing", "IBENCH_CORE is 1, but ..."),
    ],
)
def test_the_clients_core_is_named_or_why_there_is_none(
    state: CoreState, status: str, found: str, monkeypatch: pytest.MonkeyPatch, workspace: Workspace
) -> None:
    monkeypatch.setattr(doctor, "core_of", lambda _driver: state)
    said = finding("client core", workspace)
    assert (said.status, said.found, said.fix) == (status, found, None if status == "ok" else "make env")


@pytest.mark.slow
def test_a_package_that_differs_from_the_lock_is_named(monkeypatch: pytest.MonkeyPatch, workspace: Workspace) -> None:
    assert finding("environment", workspace).status == "ok"
    real = doctor._installed
    monkeypatch.setattr(doctor, "_installed", lambda: real() | {"polars": "0.0.1"})
    found = finding("environment", workspace)
    assert (found.status, found.fix) == ("warning", "make env")
    assert found.found.startswith("polars is 0.0.1, the lock file has ")


@pytest.mark.slow
def test_sandboxes_are_told_apart_live_left_behind_and_foreign(workspace: Workspace) -> None:
    def sandbox(name: str) -> Path:
        (workspace.sandboxes / name).mkdir(parents=True)
        marker = workspace.sandboxes / name / MARKER
        marker.write_text("{}")
        return marker

    with open(sandbox("live"), "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert finding("sandboxes", workspace) == doctor.Finding("sandboxes", "ok", "1 running, none left behind")
        sandbox("dead")
        found = finding("sandboxes", workspace)
        assert (found.status, found.found) == ("warning", "left behind: dead")
        (workspace.sandboxes / "precious").mkdir()
        found = finding("sandboxes", workspace)
        assert (found.status, found.found) == ("warning", "unknown folders: precious")
    assert (workspace.sandboxes / "dead" / MARKER).exists()


def test_a_disk_that_is_nearly_full_is_a_warning(monkeypatch: pytest.MonkeyPatch, workspace: Workspace) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage(2**40, 2**40, doctor.LOW_DISK_BYTES - 1))
    assert finding("disk", workspace).status == "warning"
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage(2**40, 2**40, doctor.LOW_DISK_BYTES))
    assert finding("disk", workspace).status == "ok"


def test_the_browser_of_this_machine_is_found_with_its_version(chromium: Path) -> None:
    found = finding("chromium", the_workspace())
    assert found.status == "ok"
    assert str(chromium) in found.found
