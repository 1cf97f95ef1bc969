"""Stores that are odd: one line says what is wrong, and the good runs next to odd ones load."""

from __future__ import annotations

import socket
import zipfile
from pathlib import Path

import pytest

from ibench_lib.paths import Workspace
from tests.command import ibench
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake


@pytest.mark.parametrize("url", ["reference://", "jupyter://x", "nosuch://x", "http://127.0.0.1:{port}/x"])
def test_a_place_that_is_no_store_is_one_line(workspace: Workspace, url: str) -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        place = url.format(port=nobody_listens.getsockname()[1])
        for result in (ibench(workspace, "runs", IBENCH_LAKE=place), ibench(workspace, "runs", "pull", place)):
            assert result.returncode in (1, 2) and place.partition(":")[0] in result.stderr, result.stderr
            assert len(result.stderr.splitlines()) <= 2 and "no runs yet" not in result.stdout


def write_archive(path: Path, runs: Path, odd: dict[str, bytes]) -> None:
    """The good run as a .zip file, and odd members."""
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted((runs / Run().run_id).iterdir()):
            archive.write(file, f"{Run().run_id}/{file.name}")
        for name, content in odd.items():
            archive.writestr(name, content)


@pytest.mark.slow
def test_a_good_run_next_to_odd_members_is_read_and_pulled(workspace: Workspace, tmp_path: Path) -> None:
    there = Workspace(tmp_path / "there")
    write_runs(there, Run())
    odd = [
        "/etc/manifest.json",
        "../up/manifest.json",
        "x" * 60_000 + "/manifest.json",
        "empty/manifest.json",
        "a b/manifest.json",
    ]
    path = tmp_path / "odd.zip"
    write_archive(path, there.runs, dict.fromkeys(odd, b"{}"))
    listed = ibench(workspace, "runs", IBENCH_LAKE=str(path))
    assert listed.returncode == 0 and Run().run_id in listed.stdout
    for name in ("/etc/manifest.json", "xxx", "empty", "a b"):
        assert f"skipped {name}" in listed.stderr
    assert all(len(line) < 800 for line in listed.stderr.splitlines())
    pulled = ibench(workspace, "runs", "pull", str(path))
    assert pulled.returncode == 1 and f"{Run().run_id}: pulled" in pulled.stdout
    assert [run.name for run in workspace.runs.iterdir()] == [Run().run_id]
    assert all(len(line) < 800 for line in (pulled.stdout + pulled.stderr).splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("number", [300, pytest.param(20_000, marks=pytest.mark.long)])
def test_a_good_run_next_to_many_broken_manifests_is_listed(workspace: Workspace, tmp_path: Path, number: int) -> None:
    there = Workspace(tmp_path / "there")
    write_runs(there, Run())
    broken = {f"broken{n}/manifest.json": b"{" for n in range(number)}
    path = tmp_path / "many.zip"
    write_archive(path, there.runs, broken)
    for name, content in broken.items():
        (there.runs / name).parent.mkdir()
        (there.runs / name).write_bytes(content)
    for place in (str(path), str(there.runs)):
        listed = ibench(workspace, "runs", IBENCH_LAKE=place)
        assert listed.returncode == 0 and Run().run_id in listed.stdout
        assert f"skipped {number - 200:,} more" in listed.stderr
        assert len(listed.stderr.splitlines()) == 201
