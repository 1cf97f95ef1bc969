"""Many cells: planned, run in order, picked up where they stopped, and never twice. The backend is a fake one."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from ibench_lib.capture import host_facts
from ibench_lib.cli.status import status
from ibench_lib.errors import CellsFailed, Interrupted, UsageError, WorkerFailed
from ibench_lib.paths import Workspace
from ibench_lib.runner.events import EventLog, event_log
from ibench_lib.runner.ledger import Ledger
from ibench_lib.runner.observer import Observer, ObserverList
from ibench_lib.runner.plan import manifests, plan_experiment
from ibench_lib.runner.sweep import run_experiment
from tests.fakes.sweep import fake_run
from tests.places import ROOT
from tests.runner.many import BROKEN, KINDS, TEXT, load, sweep

pytestmark = pytest.mark.usefixtures("fake_builds")


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("interleaved", [f"{kind}-r{repeat}" for repeat in (1, 2) for kind in KINDS]),
        ("grouped", [f"{kind}-r{repeat}" for kind in KINDS for repeat in (1, 2)]),
    ],
)
@pytest.mark.slow
def test_cells_are_run_in_the_order_asked_for_and_a_config_only_on_its_builds(
    workspace: Workspace, order: str, expected: list[str]
) -> None:
    assert sweep(workspace, TEXT + f"order: {order}\n") == expected
    runs = manifests(workspace)
    assert [run.cell.position for run in runs] == list(range(1, 11))
    assert {run.cell.order for run in runs} == {order}
    (standing,) = {(run.cell.build_label, run.cell.stands_for) for run in runs if run.cell.build == "b56"}
    assert standing == ("b", "MySQL 5.6.51")
    assert "b56 is b, standing for MySQL 5.6.51" in runs[-1].warnings


@pytest.mark.slow
def test_a_host_of_another_class_does_not_add_to_what_is_there_unless_told_to(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep(workspace, only=["a.base"])
    monkeypatch.setattr(host_facts, "_cpuinfo", lambda _name: "Other 1")
    only_p1: dict[str, Any] = {"only": ["p1"]}
    for chosen in ({}, only_p1):
        with pytest.raises(
            UsageError,
            match=r"this host does not match the existing runs: it is Other 1, .*; there are runs "
            "of many made on ",
        ) as caught:
            sweep(workspace, **chosen)
        assert "--any-host" in (caught.value.hint or "") and "--again" in (caught.value.hint or "")
    assert sweep(workspace, only=["a.base"]) == [], "nothing is to be run, so nothing is mixed"
    assert sweep(workspace, TEXT.replace("[cy10a]}", "[cy10a, lag]}"), only=["a.base"]) == ["a.base-r1", "a.base-r2"]
    assert len(sweep(workspace, any_host=True)) == 8


def test_a_failed_cell_does_not_keep_the_others_from_being_run(workspace: Workspace) -> None:
    with pytest.raises(CellsFailed, match="2 of 5 cells failed; 3 new runs") as caught:
        sweep(workspace, BROKEN)
    assert caught.value.exit_code == 1
    assert (caught.value.detail or "").count("it is broken") == 2
    planned = plan_experiment(load(workspace, BROKEN), workspace)
    assert [entry.what for entry in planned] == ["done", "again", "done", "done", "again"]
    assert re.fullmatch(r"failed \d{4}-\d\d-\d\d \d\d:\d\d UTC in step l\.i1: it is broken", planned[1].note)
    edited = plan_experiment(load(workspace, BROKEN.replace("[cy10a, p1]}", "[cy10a, p1, lag]}")), workspace)
    assert [entry.what for entry in edited] == ["done", "again", "done", "done", "again"]
    assert edited[1].note == planned[1].note + "; it has changed since"
    states = [attempt.state for attempt in Ledger(workspace).attempts("many")]
    assert states == ["complete", "failed", "complete", "complete", "failed"]


@pytest.mark.slow
def test_what_a_repeat_cannot_mend_is_not_tried_again_and_what_may_be_chance_is(workspace: Workspace) -> None:
    text = TEXT.replace("name: p1,", "name: refused,").replace("name: only_a,", "name: disturbed,")
    text = text.replace("repeats: 2", "repeats: 3\norder: interleaved")
    observer = ObserverList([Observer(), EventLog(workspace, "many")])
    with pytest.raises(CellsFailed, match=r"5 of 15 cells failed, 4 were not tried again; 6 new runs") as caught:
        run_experiment(load(workspace, text), workspace, observer, run=fake_run)
    assert caught.value.exit_code == 1
    lines = (caught.value.detail or "").splitlines()
    assert [line for line in lines if "refused" in line] == [
        "a.refused, mine, repeat 1: it does not start",
        "b56.refused, mine, repeat 1: it does not start",
        *(f"{dbms}.refused, mine, repeat {repeat}: skipped: as repeat 1" for repeat in (2, 3) for dbms in ("a", "b56")),
    ]
    assert sum("a.disturbed" in line and line.endswith("it does not start") for line in lines) == 3
    states = Counter((attempt.dbms, attempt.state) for attempt in Ledger(workspace).attempts("many"))
    assert states["a.refused", "failed"] == states["b56.refused", "failed"] == 1
    assert states["a.refused", "skipped"] == states["b56.refused", "skipped"] == 2
    assert states["a.disturbed", "failed"] == 3
    events = [json.loads(line) for line in event_log(workspace, "many").read_text().splitlines()]
    assert sum(event["event"] == "cell_not_tried" and event["why"] == "as repeat 1" for event in events) == 4
    planned = plan_experiment(load(workspace, text), workspace, only=["*.refused"])
    assert planned[-1].what == "again" and planned[-1].note.endswith("UTC: as repeat 1")
    with pytest.raises(CellsFailed, match="2 of 6 cells failed, 4 were not tried again"):
        sweep(workspace, text, only=["*.refused"])


def test_fail_fast_stops_at_the_first_failure(workspace: Workspace) -> None:
    with pytest.raises(CellsFailed, match="1 of 5 cells failed; 1 new run"):
        sweep(workspace, BROKEN, fail_fast=True)
    assert len(Ledger(workspace).attempts()) == 2


@pytest.mark.long
@pytest.mark.fault("F37")
@pytest.mark.slow
def test_f37_killed_at_any_moment_no_cell_is_missing_and_none_is_run_twice(workspace: Workspace) -> None:
    load(workspace, TEXT.replace("repeats: 2", "repeats: 6"))
    command = [sys.executable, "-m", "tests.fakes.sweep", str(workspace.root), str(workspace.root / "many.yaml"), "7"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [killed for _, killed in lines].count("True") >= 10, "most were killed at work"
    counts = [int(count) for count, _ in lines]
    assert counts == sorted(counts) and counts[-1] == 30
    complete = Counter(run.cell.fingerprint for run in manifests(workspace) if run.status == "complete")
    assert len(complete) == 30 and set(complete.values()) == {1}
    assert {run.status for run in manifests(workspace)} <= {"complete", "failed"}, "half runs are sealed as failed"
    attempts = Ledger(workspace).attempts("many")
    assert Counter(attempt.state for attempt in attempts)["running"] == 0
    wrongly = [attempt for attempt in attempts if attempt.state == "complete" and attempt.run_id is None]
    assert not wrongly


def test_the_first_ctrl_c_lets_the_cell_end_and_the_second_does_not(workspace: Workspace) -> None:
    made: list[str] = []

    def run_with(signals: int) -> Any:
        def run(experiment: Any, planned: Any, place: Any, observer: Any, patience: Any) -> Any:
            from ibench_lib.base.signals import signals_as_interrupts

            try:
                with signals_as_interrupts(patience):
                    for _ in range(signals):
                        os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                raise Interrupted(f"{planned.cell} interrupted") from None
            made.append(str(planned.cell))
            return fake_run(experiment, planned, place, observer)

        return run

    told: list[str] = []

    class Told(Observer):
        def stopping(self) -> None:
            told.append("stopping after this cell")

    with pytest.raises(Interrupted, match=r"stopped before .*, cell 2 of 10"):
        run_experiment(load(workspace), workspace, Told(), run=run_with(1))
    assert len(made) == 1 and told == ["stopping after this cell"]
    with pytest.raises(Interrupted, match="interrupted"):
        run_experiment(load(workspace), workspace, Told(), run=run_with(2))
    assert len(made) == 1
    assert [attempt.state for attempt in Ledger(workspace).attempts()] == ["complete", "interrupted"]


@pytest.mark.slow
def test_status_says_when_and_in_which_step_a_cell_failed_and_how_many_were_not_tried(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TEXT.replace("name: p1,", "name: broken,").replace("name: only_a,", "name: refused,")
    observer = ObserverList([Observer(), EventLog(workspace, "many")])
    with pytest.raises(CellsFailed):
        run_experiment(load(workspace, text), workspace, observer, run=fake_run)
    monkeypatch.setenv("IBENCH_HOME", str(workspace.root))
    monkeypatch.setenv("COLUMNS", "200")
    status("many")
    said = capsys.readouterr().out
    assert "10 of 10 cells ended, 5 failed, 1 not tried again" in said
    when = r"failed \d{4}-\d\d-\d\d \d\d:\d\d UTC"
    assert len(re.findall(rf"{when}: \S+\.broken, mine, repeat \d: run \S+, step l\.i1: it is broken", said)) == 4
    assert len(re.findall(rf"{when}: a\.refused, mine, repeat 1: it does not start", said)) == 1


def test_an_experiment_whose_only_cell_failed_has_failed(workspace: Workspace) -> None:
    observer = ObserverList([Observer(), EventLog(workspace, "many")])
    with pytest.raises(WorkerFailed, match="it is broken"):
        run_experiment(load(workspace, BROKEN), workspace, observer, run=fake_run, only=["a.broken"])
    last = json.loads(event_log(workspace, "many").read_text().splitlines()[-1])
    assert (last["event"], last["outcome"]) == ("experiment_ends", "failed")
