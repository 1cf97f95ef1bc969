"""`ibench stalls`, for people and for programs, and the dips of a run in progress."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ibench_lib.cli import stalls
from ibench_lib.cli.output import out
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.cli.asking import questions_asked
from tests.command import ibench, refused
from tests.store.test_dips import CASES
from tests.synthetic import Run, begin_run, die, write_runs

pytestmark = pytest.mark.lake

SLOW = CASES["free_pages"][0]


@pytest.mark.slow
def test_the_newest_experiments_dips_are_told_and_listed(workspace: Workspace) -> None:
    write_runs(workspace, SLOW)
    done = ibench(workspace, "stalls", "--step", "l.i1")
    assert done.returncode == 0, done.stderr
    assert "l.i1, system.slow: 1 dip of 3 s (of 20 s) cost" in done.stdout
    assert "because threads waited for free pages (high confidence)" in done.stdout
    assert "9 to 11 (3 s)" in done.stdout


@pytest.mark.long
@pytest.mark.slow
def test_programs_get_every_dip_with_its_evidence(workspace: Workspace) -> None:
    write_runs(workspace, SLOW, Run("even", minute=1))
    done = ibench(workspace, "stalls", SLOW.run_id, "--json")
    (dip,) = json.loads(done.stdout)
    assert (dip["run_id"], dip["cause"], dip["points"], dip["from_s"]) == (SLOW.run_id, "free_pages", 5, 9)
    assert dip["evidence"] == ["threads waited for a free page", "at most 1 % of the buffer pool was free"]


@pytest.mark.slow
def test_each_question_about_seconds_is_asked_once_and_only_what_is_printed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_runs(workspace, SLOW)
    asked = questions_asked(monkeypatch)
    for options, about_seconds in (((), ["dips", "steadiness"]), (("--json",), ["dips"])):
        assert ibench(workspace, "stalls", *options).returncode == 0
        assert sorted(name for name in asked if name in ("dips", "steadiness")) == about_seconds
        asked.clear()


@pytest.mark.slow
def test_a_name_that_is_not_there_is_one_line(workspace: Workspace) -> None:
    write_runs(workspace, SLOW)
    refused(ibench(workspace, "stalls", "nothing"), "there is no run 'nothing' in the lake")


@pytest.mark.slow
def test_a_run_in_progress_has_a_line_for_its_dips(workspace: Workspace) -> None:
    live = replace(SLOW, status="running", also=(), steps=("l.i0", "l.x", "l.i1"))
    writer = begin_run(workspace, live, ("l.i0", "l.x"))
    try:
        with out.capture() as captured:
            stalls.print_running(reader.lake(workspace), out)
    finally:
        die(writer)
    assert captured.get().strip().startswith("1 dip so far, the last at second 9 to 11 (3 s): free pages")
