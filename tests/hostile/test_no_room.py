"""A data folder on a read-only or full disk, or over its quota. Each command says in one line that it cannot write."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ibench_lib.paths import Workspace
from ibench_lib.store.verify import verify
from tests.command import PROGRAM, ibench
from tests.faults import Disk
from tests.publish.posting import params_file, with_notebook
from tests.synthetic import Run, three_configurations, write_runs

pytestmark = pytest.mark.lake

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


# Writes to regular files below QUOTA_BELOW fail as those of a user who is over the quota; root has none.
QUOTA = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int over(int file) {
    const char *below = getenv("QUOTA_BELOW");
    char link[64], path[PATH_MAX];
    struct stat found;
    if (!below || fstat(file, &found) || !S_ISREG(found.st_mode)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (strncmp(path, below, strlen(below))) return 0;
    errno = EDQUOT;
    return 1;
}

#define WRITES(name, file, parameters, arguments)                   \
    ssize_t name parameters {                                       \
        static ssize_t (*real) parameters;                          \
        if (!real) real = (ssize_t (*) parameters)dlsym(RTLD_NEXT, #name); \
        return over(file) ? -1 : real arguments;                    \
    }
WRITES(write, file, (int file, const void *from, size_t bytes), (file, from, bytes))
WRITES(pwrite, file, (int file, const void *from, size_t bytes, off_t at), (file, from, bytes, at))
WRITES(pwrite64, file, (int file, const void *from, size_t bytes, off_t at), (file, from, bytes, at))
WRITES(writev, file, (int file, const struct iovec *from, int count), (file, from, count))
WRITES(sendfile, file, (int file, int from, off_t *at, size_t bytes), (file, from, at, bytes))
WRITES(sendfile64, file, (int file, int from, off_t *at, size_t bytes), (file, from, at, bytes))
"""


@pytest.mark.long
def test_a_folder_over_its_quota_is_one_line_with_the_place(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (tmp_path / "quota.c").write_text(QUOTA)
    library = tmp_path / "quota.so"
    words = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(tmp_path / "quota.c"), "-ldl"]
    subprocess.run(words, check=True)
    place, there = with_notebook(tmp_path / "here"), Workspace(tmp_path / "there")
    write_runs(place, *RUNS)
    write_runs(there, Run("other", minute=30))
    (tmp_path / "x.yaml").write_text(EXPERIMENT)
    environment = {**os.environ, "IBENCH_HOME": str(place.root), "COLUMNS": "1000", "LD_PRELOAD": str(library)}
    if shutil.disk_usage("/dev/shm").free < shutil.disk_usage(tmp_path).free:
        environment["TMPDIR"] = "/dev/shm"  # a folder with less room, which is not the one that is over its quota

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-P", "-c", PROGRAM, *arguments]
        over = {**environment, "QUOTA_BELOW": str(place.data)}
        return subprocess.run(program, cwd=tmp_path, env=over, capture_output=True, text=True, check=False)

    for reading in (["runs"], ["sql", "SELECT count(*) FROM runs"], ["summary", "demo"], ["runs", "verify"]):
        done = command(*reading)
        assert done.returncode == 0 and "ibench:" not in done.stderr, (reading, done.stderr)
    writing = (
        ["runs", "note", RUNS[1].run_id, "a note"], ["runs", "pull", str(there.runs)],
        ["runs", "push", str(place.data / "runs.zip")], ["run", str(tmp_path / "x.yaml")],
        ["post", str(params_file(place))],
    )  # fmt: skip
    for arguments in writing:
        done = command(*arguments)
        (what,) = [line for line in done.stderr.splitlines() if line.startswith("ibench: ")]
        assert done.returncode == 1 and "Traceback" not in done.stderr, (arguments, done.stderr)
        assert any(reason in what for reason in ("quota exceeded", "disk I/O error", "disk is full")), what
        assert str(place.data) in what or arguments[0] == "post", what
        assert "make room" in done.stderr.splitlines()[-1], (arguments, done.stderr)
    assert sorted(path.name for path in place.runs.iterdir()) == sorted(run.run_id for run in RUNS)
    assert all(verify(path) == [] for path in place.runs.iterdir())
    assert not (place.data / "runs.zip").exists()
