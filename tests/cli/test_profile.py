"""`ibench profile export`: a profile as a file for other tools."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys

import pytest

from ibench_lib.paths import Workspace
from tests.command import PROGRAM, ibench
from tests.places import ROOT
from tests.show.profiled import STACKS, profiled
from tests.synthetic import Run, write_runs

pytestmark = [pytest.mark.lake, pytest.mark.slow]


@pytest.fixture
def lake(workspace: Workspace) -> Workspace:
    write_runs(workspace, profiled("a"), Run("b", minute=1))
    return workspace


def test_a_profile_is_written_in_each_format(lake: Workspace) -> None:
    run_id = profiled("a").run_id
    for form, read in (
        ("folded", lambda content: sum(int(line.rpartition(b" ")[2]) for line in content.splitlines())),
        ("speedscope", lambda content: sum(json.loads(content)["profiles"][0]["weights"])),
        ("pprof", lambda content: 400 if b"btr_cur_insert(unsigned long)" in gzip.decompress(content) else 0),
    ):
        path = lake.root / f"profile.{form}"
        done = ibench(lake, "profile", "export", run_id, "--step", "l.i0", "--format", form, "-o", str(path))
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == f"{path}: 400 samples, {len(STACKS)} stacks"
        assert read(path.read_bytes()) == 400
    again = ibench(lake, "profile", "export", run_id, "--step", "l.i0", "-o", str(path))
    assert again.returncode == 2 and "exists already" in again.stderr


def test_what_cannot_be_exported_is_told_in_one_line(lake: Workspace) -> None:
    of_a, of_b = profiled("a").run_id, Run("b", minute=1).run_id
    for arguments, said in (
        (("2099", "--step", "l.i0"), "there is no run '2099' in the lake"),
        (("20261121T10", "--step", "l.i0"), "2 runs begin with '20261121T10'"),
        ((of_a, "--step", "l.i00"), f"run {of_a} has no step 'l.i00'; did you mean 'l.i0'?"),
        ((of_a, "--step", "l.i1"), "l.i1 of run {of_a} was not profiled: no recording lies entirely within the step"),
        ((of_b, "--step", "l.i0"), "the experiment did not ask for it (capture: {profile: {}})"),
    ):
        done = ibench(lake, "profile", "export", *arguments)
        assert done.returncode != 0 and said.replace("{of_a}", of_a) in done.stderr, done.stderr


def test_a_profile_goes_into_a_pipe(lake: Workspace) -> None:
    arguments = ["profile", "export", profiled("a").run_id, "--step", "l.i0", "-o", "-"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env={"IBENCH_HOME": str(lake.root), "PYTHONPATH": str(ROOT), "PATH": "/usr/bin"},
        capture_output=True, check=True,
    )  # fmt: skip
    assert {line.rpartition(b" ")[0].decode() for line in done.stdout.splitlines()} == STACKS.keys()
