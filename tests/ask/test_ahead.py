"""Questions that are asked ahead have the answers that they would have had."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import duckdb
import pytest

from ibench_lib.ask.ahead import VARIABLE, Ahead, begun_again, begun_ahead
from ibench_lib.ask.pair import pair
from ibench_lib.ask.selection import choose
from ibench_lib.ask.shared import KEPT
from ibench_lib.paths import Workspace
from ibench_lib.store import catalogue, reader
from tests.shared import lake_of
from tests.synthetic import Run
from tests.waiting import until

pytestmark = pytest.mark.lake


def expecting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    path = tmp_path / "ahead.json"
    path.write_text(json.dumps(names))
    monkeypatch.setenv(VARIABLE, str(path))


def databases(lake: duckdb.DuckDBPyConnection) -> list[str]:
    return [name for (name,) in lake.execute("SELECT database_name FROM duckdb_databases()").fetchall()]


def answered(ahead: Ahead | None) -> bool:
    """Whether nothing is worked on any more."""
    return ahead is not None and all(answer.done() for _, answer in ahead._planned.values())


def test_an_expected_question_is_answered_as_if_it_had_been_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = choose(lake_of(Run()), "demo")
    assert alone.ahead is None
    # One that is not there any more, and one with a parameter that a selection does not have, are left out.
    expecting(tmp_path, monkeypatch, "step_throughput", "gone", "known_runs", "steps", "dip_evidence")
    chosen = choose(lake_of(Run()), "demo")
    assert chosen.ahead is not None
    for name in ("step_throughput", "steps", "get_min"):
        assert chosen.ask(name).equals(alone.ask(name))
    assert [one.name for one in chosen.asked] == [
        "step_throughput",
        "steps",
        "get_min",
    ]  # and nothing that nobody asked


def test_what_several_questions_begin_with_is_worked_out_once_and_changes_no_answer() -> None:
    runs = (Run(), Run("b", minute=1, status="failed", failed_step="l.i1", steps=("l.i0", "l.x", "l.i1")))
    lake = lake_of(*runs)
    names = ("metric_values", "step_metrics", "steadiness", "stalls", "dips", "rate_by_tenth", "step_throughput")
    values = {"runs": [run.run_id for run in runs], "steps": ["l.i0", "l.i1"]}
    plain = {name: reader.question(lake, name, **values) for name in names}
    ahead = Ahead(lake, [(name, values) for name in names])
    until(lambda: answered(ahead), "all were asked")
    assert ahead._kept == {macro: f"{ahead._place}.{macro}" for macro in KEPT}
    for name, answer in plain.items():
        found = ahead.take(name, values)
        assert found is not None and found.equals(answer)
    # Nobody else's macro reads what was kept.
    other = {**values, "runs": values["runs"][:1]}
    assert reader.question(lake, "steadiness", **other)["run_id"].unique().to_list() == other["runs"]
    until(lambda: ahead._place not in databases(lake), "what was kept is given back")


def test_where_a_table_cannot_be_made_questions_do_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    lake = lake_of(Run()).cursor()
    values = {"runs": [Run().run_id], "steps": ["l.i1"]}
    names = ("steadiness", "stalls", "dips", "rate_by_tenth")
    plain = {name: reader.question(lake, name, **values) for name in names}

    def parameters(macro: str) -> list[str]:
        return [] if macro == "whole_seconds" else in_order(macro)

    in_order = catalogue.parameters_in_order
    monkeypatch.setattr(catalogue, "parameters_in_order", parameters)  # so that it is called with too few arguments
    ahead = Ahead(lake, [(name, values) for name in names])
    until(lambda: answered(ahead), "all were asked")
    assert ahead._kept["whole_seconds"] is None and ahead._kept["rated_seconds"] is not None
    for name, answer in plain.items():
        found = ahead.take(name, values)
        assert found is not None and found.equals(answer)


def test_who_is_stopped_begins_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    lake = lake_of(Run())
    asked, ended, begun = threading.Event(), threading.Event(), []

    def question(_lake: object, name: str, **_values: object) -> None:
        begun.append(name)
        asked.set()
        ended.wait(60)

    monkeypatch.setattr(reader, "question", question)
    names = ("steps", "sla", "fairness", "waits", "sweep")
    ahead = Ahead(lake, [(name, {"n": 1}) for name in names])
    assert asked.wait(60)
    ahead.stop()
    ended.set()
    until(lambda: ahead._place not in databases(lake), "both threads have ended")
    assert len(begun) <= 2 and not ahead._planned


def test_lanes_and_the_threads_of_duckdb_are_as_many_as_cores(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = reader.lake(workspace)  # not one that others share: lanes of theirs may not have ended
    asked, answer, most = threading.Semaphore(0), threading.Semaphore(0), threads_of(lake)

    def question(*_: object, **_values: object) -> None:
        asked.release()
        answer.acquire(timeout=60)

    monkeypatch.setattr(reader, "question", question)
    ahead = Ahead(lake, [(name, {"n": 1}) for name in ("steps", "sla")])
    assert asked.acquire(timeout=60) and asked.acquire(timeout=60)
    assert threads_of(lake) == max(most - 1, 1)
    answer.release()
    until(lambda: threads_of(lake) == most, "the lane that has ended gives its core back")
    answer.release()
    until(lambda: ahead._place not in databases(lake), "the other one has ended")
    assert threads_of(lake) == most


def threads_of(lake: duckdb.DuckDBPyConnection) -> int:
    ((threads,),) = lake.execute("SELECT current_setting('threads')").fetchall()
    return int(threads)


def test_what_one_question_uses_again_and_again_is_worked_out_once() -> None:
    values = {"runs": [Run().run_id], "steps": ["l.i1"]}
    lake = lake_of(Run())
    ahead = Ahead(lake, [("step_throughput", values), ("step_metrics", values)])
    until(lambda: answered(ahead), "both were asked")
    assert "rates_of_steps" in ahead._kept  # by both, and by step_metrics twice
    assert not ahead._kept.keys() & {"resources", "rated_seconds"}  # only once


def test_a_pair_of_a_selection_is_asked_ahead_and_the_selection_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expecting(tmp_path, monkeypatch, "metric_values", "step_throughput", "metric_values-2")
    chosen = choose(lake_of(Run(), Run("b", minute=1), Run("c", minute=2)), "demo")
    two = pair(chosen, "system.c", "system.cy10a")
    assert two.ahead is not None and two.ahead is not chosen.ahead
    (of_neighbours,) = two.again
    assert [*of_neighbours._planned] == ["metric_values"]
    until(lambda: answered(of_neighbours), "the runs of b were asked about")
    until(lambda: answered(two.ahead), "both were asked")
    assert two.ask("metric_values").equals(reader.question(chosen.lake, "metric_values", runs=two.run_ids, steps=[]))
    theirs = reader.question(chosen.lake, "metric_values", runs=[*two.neighbours], steps=[])
    assert of_neighbours._planned, "it is for the neighbours, not for the two"
    assert two.with_neighbours("metric_values").tail(len(theirs)).drop("dbms").equals(theirs.drop("dbms"))
    assert not of_neighbours._planned
    assert answered(chosen.ahead)
    assert chosen.ahead is not None
    assert chosen.ahead.take("step_throughput", {"runs": chosen.run_ids, "steps": []}) is None


def test_of_a_pair_with_some_steps_all_steps_are_asked_ahead_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expecting(tmp_path, monkeypatch, "metric_values", "metric_values-2", "metric_values-3")
    lake = lake_of(Run(), Run("b", minute=1), Run("c", minute=2))
    two = pair(choose(lake, "demo", steps=["l.i1"]), "system.c", "system.cy10a")
    planned = [each._planned["metric_values"][0] for each in (two.ahead, *two.again) if each is not None]
    theirs = [*two.neighbours]
    assert planned == [
        {"runs": two.run_ids, "steps": ["l.i1"]},
        {"runs": two.run_ids, "steps": []},
        {"runs": theirs, "steps": []},
    ]
    until(lambda: all(map(answered, two.again)), "all were asked")
    assert two.with_neighbours("metric_values")["step"].n_unique() > 1
    assert not any(each._planned for each in two.again)


def test_the_answer_to_other_parameters_is_nobodys() -> None:
    lake = lake_of(Run())
    values = {"runs": [Run().run_id], "steps": ["l.i1"]}
    ahead = Ahead(lake, [("steps", values), ("sla", {"nonsense": 1})])
    until(lambda: answered(ahead), "both were asked")
    assert ahead.take("steps", {**values, "steps": []}) is None
    assert ahead.take("steps", values) is not None
    assert ahead.take("steps", values) is None  # it is handed out once
    assert ahead.take("sla", {"nonsense": 1}) is None  # whoever asks it learns what is wrong
    again = Ahead(lake, [("steps", values)])
    until(lambda: answered(again), "it was asked")
    found = again.take("steps", values)
    assert found is not None and found.equals(reader.question(lake, "steps", **values))


def test_a_question_that_is_not_about_runs_is_not_asked_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expecting(tmp_path, monkeypatch, "known_runs")  # the connections have the files of some runs only
    assert begun_ahead(lake_of(Run()), {"runs": [], "steps": []}) is None


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "7", '{"steps": 1}', '"steps"', "[7, null, []]", "\xff"])
def test_a_file_that_says_nothing_is_no_error(content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expecting(tmp_path, monkeypatch)
    (tmp_path / "ahead.json").write_text(content, encoding="latin-1")
    assert begun_ahead(lake_of(Run()), {"runs": []}) is None
    assert begun_again(lake_of(Run()), {"runs": []}) is None
    monkeypatch.setenv(VARIABLE, str(tmp_path / "not there"))
    assert begun_ahead(lake_of(Run()), {}) is None
