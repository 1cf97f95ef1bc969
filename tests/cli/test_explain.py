"""`ibench explain`, for people and for programs."""

from __future__ import annotations

import json
import shlex

import pytest

from ibench_lib.paths import Workspace
from tests.analysis.explaining import ENGINE, pair_runs, slowed
from tests.command import ibench, refused
from tests.places import ROOT
from tests.synthetic import write_runs

pytestmark = [pytest.mark.lake, pytest.mark.slow]


@pytest.fixture
def measured(workspace: Workspace) -> Workspace:
    write_runs(workspace, *pair_runs(ENGINE, slowed(ENGINE, "rec_get_offsets", 2), user=(8.0, 9.43)))
    return workspace


def test_a_difference_is_told_with_what_cannot_be_said(measured: Workspace) -> None:
    done = ibench(measured, "explain", "system.cy10a", "system.b", "--step", "l.i0")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "A is system.cy10a (3 runs), B is system.b (3 runs); l.i0 in cached"
    assert "]. By function, in microseconds and without what it calls: rec_get_offsets_func +71." in done.stdout
    (row,) = [line.split() for line in lines if line.startswith(" rec_get_offsets_func ")]
    assert row[1:3] == ["71.5", "143"]
    why = "whether the server runs more instructions or slower ones"
    assert f"Not known: {why}: the processor did not count over the step." in lines
    document = json.loads(ibench(measured, "explain", "system.cy10a", "system.b", "--step", "l.i0", "--json").stdout)
    assert document["self"][0]["name"] == "rec_get_offsets_func" and document["self"][0]["clear"]


def test_one_run_is_counted_as_one(workspace: Workspace) -> None:
    write_runs(workspace, *pair_runs(ENGINE, slowed(ENGINE, "rec_get_offsets", 2), rounds=1))
    done = ibench(workspace, "explain", "system.cy10a", "system.b", "--step", "l.i0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "A is system.cy10a (1 run), B is system.b (1 run); l.i0 in cached"


def test_what_is_not_there_is_refused_in_one_line(measured: Workspace) -> None:
    refused(ibench(measured, "explain", "system.cy10a", "system.c", "--step", "l.i0"), "system.c")
    refused(ibench(measured, "explain", "system.cy10a", "system.b", "--step", "l.i9"), "l.i9")


def test_the_first_command_of_the_page_works_in_a_fresh_checkout(workspace: Workspace) -> None:
    """The sample has several experiments: the newest is another one."""
    page = (ROOT / "docs" / "regressions.md").read_text(encoding="utf-8")
    (command, *_) = [line.strip() for line in page.splitlines() if line.startswith("    ibench ")]
    _, *words = shlex.split(command)
    done = ibench(workspace, *words, IBENCH_LAKE=str(ROOT / "data" / "sample"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("A is mysql-5.6.24.cy10a (5 runs), B is mysql-9.7.cy10a (5 runs); l.i0 in ")
