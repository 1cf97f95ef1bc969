"""A data folder that cannot be written: on a read-only disk, and on a full one. Each command says so in one line."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ibench_lib.paths import Workspace
from ibench_lib.store.verify import verify
from tests.command import ibench
from tests.faults import Disk
from tests.publish.posting import params_file, with_notebook
from tests.synthetic import Run, three_configurations, write_runs

EXPERIMENT = """
title: no room
builds: [system]
configs: [{name: p1, fragments: [p1]}]
setups: [{name: tiny, l_i0_rows: 2000, l_i1_rows: 1000, l_i2_rows: 1000, query_seconds: 1}]
workload: {benchmark: insert_benchmark, clients: 1, steps: [l.i0]}
"""
RUNS = three_configurations()
READ_ONLY, FULL = "Read-only file system", "No space left on device"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace with runs, whose data folder is a small disk of its own."""
    workspace = with_notebook(tmp_path / "here")
    workspace.data.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(workspace.data)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no disk can be mounted here")
    try:
        write_runs(workspace, *RUNS)
        yield workspace
    finally:
        subprocess.run(["umount", "--lazy", str(workspace.data)], check=True)


def read_only(workspace: Workspace) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(workspace.data)], check=True)


def full(workspace: Workspace) -> None:
    Disk(workspace.data).fill()
    with pytest.raises(OSError, match=FULL), open(workspace.data / "probe", "wb", buffering=0) as file:
        while True:
            file.write(b"x" * 512)


@pytest.mark.long
@pytest.mark.parametrize(("fault", "reason"), [(read_only, READ_ONLY), (full, FULL)])
def test_what_cannot_be_written_is_one_line_and_what_can_be_read_is_read(
    place: Workspace, tmp_path: Path, fault: object, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    there = Workspace(tmp_path / "there")
    write_runs(there, Run("other", minute=30))
    (tmp_path / "x.yaml").write_text(EXPERIMENT)
    post, one = params_file(place), RUNS[1].run_id
    assert callable(fault)
    fault(place)
    for reading in (["runs"], ["sql", "SELECT count(*) FROM runs"], ["summary", "demo"], ["runs", "verify"]):
        done = ibench(place, *reading)
        assert done.returncode == 0 and "ibench:" not in done.stderr, (reading, done.stderr)
    writing = (
        ["runs", "note", one, "a note"], ["runs", "pull", str(there.runs)],
        ["runs", "push", str(place.data / "runs.zip")], ["run", str(tmp_path / "x.yaml")],
        ["experiment", "plan", str(tmp_path / "x.yaml")], ["post", str(post)],
    )  # fmt: skip
    for command in writing:
        done = ibench(place, *command)
        said = done.stderr.splitlines()
        assert done.returncode == 1, (command, said)
        assert [line.startswith("ibench: ") for line in said].count(True) == 1, (command, said)
        (what, hint) = said[-2:]
        reasons = {reason, "database or disk is full", "unable to open database file", "attempt to write a readonly"}
        assert what.startswith("ibench: ") and any(each in what for each in reasons), (command, said)
        assert str(place.data) in what or command[0] == "post", (command, what)
        assert "write there" in hint or "make room" in hint or "may read and write it" in hint, (command, hint)
        assert "Traceback" not in done.stderr + capfd.readouterr().err, command
    assert sorted(path.name for path in place.runs.iterdir()) == sorted(run.run_id for run in RUNS)
    assert all(verify(path) == [] for path in place.runs.iterdir())
    assert not (place.data / "runs.zip").exists()
    if fault is full:
        os.unlink(place.data / ".filler")
        os.unlink(place.data / "probe")
        for command in writing[:3]:
            assert ibench(place, *command).returncode == 0, command
