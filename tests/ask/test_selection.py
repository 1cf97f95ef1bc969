"""Choosing runs: by experiment, globs and ids, and the names and places that chosen runs have next to each other."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.ask.pair import pair
from ibench_lib.ask.selection import Selection, choose
from ibench_lib.errors import ParameterError, QueryError
from ibench_lib.paths import Workspace
from ibench_lib.store import catalogue, reader
from tests.interactive_shell import completions, make_shell
from tests.shared import lake_of
from tests.show.saying import made_of
from tests.synthetic import Run, three_configurations, write_runs

pytestmark = pytest.mark.lake


def names(selection: Selection) -> list[tuple[str, int, int]]:
    return selection.runs.select("dbms", "dbms_position", "repeat").rows()


@pytest.mark.slow
def test_an_experiment_is_chosen_by_name_or_glob_and_narrowed_by_globs(workspace: Workspace) -> None:
    other = Run("z", minute=9, experiment="other")
    write_runs(workspace, *three_configurations(), other, Run("big", minute=8, setup="io_bound"))
    lake = reader.lake(workspace)
    assert [name for name, _, _ in names(choose(lake, "demo"))] == [
        "system.cy10a", "system.cy10ap1", "system.cy10ap1lag", "system.big",
    ]  # fmt: skip
    assert len(choose(lake, "*").run_ids) == 5
    assert names(choose(lake, "demo", dbms=["*p1", "*.cy10a"])) == [("system.cy10a", 1, 1), ("system.cy10ap1", 2, 1)]
    assert names(choose(lake, "demo", setups=["io_bound"])) == [("system.big", 1, 1)]
    assert choose(lake, "demo", dbms=["*p1*"]).base == "system.cy10ap1"
    with pytest.warns(UserWarning, match="experiment 'nothing' has no run in the lake; known: demo, other"):
        assert choose(lake, "nothing").run_ids == []
    with pytest.raises(ParameterError, match=r"experiment 'dmeo' has no run in the lake; did you mean 'demo'\?"):
        choose(lake, "dmeo")


def test_an_experiment_that_has_a_file_and_no_run_yet_is_no_typo(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_runs(workspace, Run())
    lake = reader.lake(workspace)
    with pytest.raises(ParameterError):
        choose(lake, "demos")
    (workspace.root / "experiments").mkdir()
    (workspace.root / "experiments" / "demos.yaml").touch()
    monkeypatch.setenv("IBENCH_HOME", str(workspace.root))
    with pytest.warns(UserWarning, match="experiment 'demos' has no run in the lake; did you mean 'demo'?"):
        assert choose(lake, "demos").run_ids == []


def test_one_name_or_number_may_stand_where_a_list_is_meant() -> None:
    runs = (Run(), Run(repeat=2, minute=1), Run("z", minute=2, setup="io_bound"))
    lake = lake_of(*runs)
    for one in ({"dbms": "*.z"}, {"setups": "io_bound"}, {"repeats": 2}, {"exclude": "*-r1"}, {"steps": "l.i1"}):
        several = {name: [value] for name, value in one.items()}
        assert (choose(lake, "demo", **one).run_ids, choose(lake, "demo", **one).steps) == (
            choose(lake, "demo", **several).run_ids, choose(lake, "demo", **several).steps
        )  # fmt: skip
    assert choose(lake, "demo", repeats=2).run_ids == [runs[1].run_id]
    assert choose(lake, runs=runs[0].run_id).run_ids == [runs[0].run_id]


def test_runs_chosen_by_id_need_not_be_the_latest_and_count_as_repeats(workspace: Workspace) -> None:
    old, new = Run(), Run(minute=5)
    write_runs(workspace, old, new)
    lake = reader.lake(workspace)
    assert choose(lake, "demo").run_ids == [new.run_id]
    assert choose(lake, runs=[old.run_id]).run_ids == [old.run_id]
    both = choose(lake, "demo", runs=[old.run_id])
    assert names(both) == [("system.cy10a", 1, 1), ("system.cy10a", 1, 2)]
    assert both.ask("step_throughput").filter(step="l.i1")["run_id"].to_list() == [old.run_id, new.run_id]


def test_one_repeat_of_each_cell_can_be_chosen_and_others_by_id(workspace: Workspace) -> None:
    first, second = Run(), Run(repeat=2, minute=1)
    write_runs(workspace, first, second)
    lake = reader.lake(workspace)
    assert choose(lake, "demo", repeats=[2]).run_ids == [second.run_id]
    assert choose(lake, "demo", repeats=[2], runs=[first.run_id]).run_ids == [first.run_id, second.run_id]
    with pytest.warns(UserWarning, match="experiment 'nothing' has no run"):
        assert choose(lake, "nothing", repeats=[9]).run_ids == []


def test_runs_named_in_a_lake_without_any_are_none_yet(workspace: Workspace) -> None:
    lake = reader.lake(workspace)
    assert choose(lake, runs=["20261121T100000Z-demo-cached-cy10a-r1"]).run_ids == []


@pytest.mark.slow
def test_one_name_in_two_experiments_stays_two_names(workspace: Workspace) -> None:
    here, there = Run(), Run(minute=5, experiment="other", l_i1_s=20)
    write_runs(workspace, here, there)
    both = choose(reader.lake(workspace), "*")
    assert names(both) == [("system.cy10a (demo)", 1, 1), ("system.cy10a (other)", 2, 1)]
    rates = both.ask("step_throughput").filter(step="l.i1").select("dbms", "ips").rows()
    assert rates == [("system.cy10a (demo)", 5000.0), ("system.cy10a (other)", 2500.0)]
    assert choose(reader.lake(workspace), "*", base="system.cy10a (other)").base == "system.cy10a (other)"


def test_one_server_with_two_protocols_is_two_dbms(workspace: Workspace) -> None:
    """A statement that the server parses and plans each time costs it twice as much as a prepared one."""

    def sends(manifest: dict[str, Any]) -> None:
        manifest["workload"]["protocol"] = "prepared" if manifest["cell"]["repeat"] == 3 else "text"

    made_of(workspace, *(Run(repeat=repeat, minute=repeat) for repeat in (1, 2, 3)), change=sends)
    found = choose(reader.lake(workspace), "demo", base="system.cy10a")
    assert names(found) == [
        ("system.cy10a (text)", 1, 1), ("system.cy10a (text)", 1, 2), ("system.cy10a (prepared)", 2, 3)
    ]  # fmt: skip
    assert found.base == "system.cy10a (text)"
    assert choose(reader.lake(workspace), "demo", base="system.cy10a (prepared)").base == "system.cy10a (prepared)"
    assert names(choose(reader.lake(workspace), "demo", repeats=[1, 2])) == [
        ("system.cy10a", 1, 1), ("system.cy10a", 1, 2)
    ]  # fmt: skip


def test_dbms_stand_in_the_order_of_the_experiment_file_whatever_ran_first(workspace: Workspace) -> None:
    write_runs(workspace, Run("third", rank=3), Run("first", minute=1, rank=1), Run("second", minute=2, rank=2))
    assert [name for name, _, _ in names(choose(reader.lake(workspace), "demo"))] == [
        "system.first", "system.second", "system.third",
    ]  # fmt: skip


def test_a_question_is_asked_once_and_remembered(workspace: Workspace) -> None:
    write_runs(workspace, Run())
    chosen = choose(reader.lake(workspace), "demo", steps=["l.i1"])
    assert chosen.asked == []
    assert chosen.ask("sla") is chosen.ask("sla")
    chosen.ask("one_second")
    assert [(asked.question, asked.parameters) for asked in chosen.asked] == [
        ("sla", {"runs": chosen.run_ids, "steps": ["l.i1"]}),
        ("one_second", {"runs": chosen.run_ids, "steps": ["l.i1"], "points": 500}),
    ]


def test_what_a_choice_has_found_out_is_not_asked_again(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    write_runs(workspace, Run(), Run("other", minute=5))
    lake, questions = reader.lake(workspace), []
    question = reader.question

    def counted(connection: Any, name: str, **values: Any) -> Any:
        questions.append((name, repr(values)))
        return question(connection, name, **values)

    monkeypatch.setattr(reader, "question", counted)
    chosen = choose(lake, "demo")
    two = pair(chosen, "system.cy10a", "system.other")
    assert len(chosen.runs) == len(two.runs) == 2
    assert len(set(questions)) == len(questions), "each question once"
    assert two._connection_for({"runs": chosen.run_ids}) is chosen._connection_for({"runs": chosen.run_ids})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"runs": ["20261121T100000Z-demo-cached-cy10a-r2"]}, "run '20261121T100000Z-demo-cached-cy10a-r2' is"),
        ({"dbms": ["system.cy10"]}, "dbms 'system.cy10' is not in any run of demo; did you mean 'system.cy10a'?"),
        ({"setups": ["cache"]}, "setup 'cache' is not in any run of demo; did you mean 'cached'?"),
        ({"steps": ["l.i9"]}, "step 'l.i9' is not in any run of demo"),
        ({"repeats": [7]}, "repeat '7' is not in any run of demo; known: 1"),
        ({"base": "cy10b"}, "base 'cy10b' is not in any run of demo; did you mean 'cy10a'?"),
        ({"points": 1}, "points 1 is out of range"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_named(workspace: Workspace, wrong: dict[str, Any], said: str) -> None:
    write_runs(workspace, Run())
    with pytest.raises(ParameterError) as caught:
        choose(reader.lake(workspace), "demo", **wrong)
    assert caught.value.what.startswith(said)


def test_a_selection_shows_what_was_chosen_and_asks_nothing_for_it() -> None:
    lake = lake_of(Run(), Run(repeat=2, minute=1, status="failed"), Run("z", minute=2, setup="io_bound"))
    chosen = choose(lake, "demo")
    assert repr(chosen) == "<Selection of 3 runs, base system.cy10a>"
    shown = chosen._repr_html_()
    assert "<p><b>demo</b>: 3 runs; base: system.cy10a</p>" in shown
    assert "<th>system.cy10a (base)</th><td>r1, r2 failed</td><td></td>" in shown
    assert "<th>system.z</th><td></td><td>r1</td>" in shown
    assert chosen.asked == []
    assert repr(choose(lake, "demo", steps=["l.i1"])).startswith("<Selection of 3 runs, steps l.i1, base ")
    assert "without any run" in choose(lake)._repr_html_() and repr(choose(lake)).endswith("base none>")


def test_questions_are_methods_with_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = choose(lake_of(Run()), "demo")
    assert chosen.q.sla().equals(chosen.ask("sla")) and [asked.name for asked in chosen.asked] == ["sla"]
    assert set(dir(chosen.q)) == set(catalogue.questions())
    text = chosen.q.sla.__doc__ or ""
    assert text.startswith("Achieved rates") and "    step_id        BIGINT     position of the step in the run" in text
    assert list(inspect.signature(chosen.q.metric_values).parameters) == []
    with pytest.raises(AttributeError, match=r"no question 'slaa'; did you mean 'sla'\?"):
        _ = chosen.q.slaa
    with pytest.raises(QueryError, match=r"no question 'slaa'; did you mean 'sla'\?") as error:
        chosen.ask("slaa")
    assert error.value.__notes__ == [error.value.hint], "a notebook shows the hint as well"
    shell = make_shell(tmp_path, monkeypatch)
    shell.push({"chosen": choose(chosen.lake, "demo")})
    assert completions(shell, "chosen.ask('step_thr") == ["step_throughput"] == completions(shell, "chosen.q.step_thr")
