"""Which cells are to be run."""

from collections import Counter

import pytest

from ibench_lib.errors import UsageError
from ibench_lib.paths import Workspace
from ibench_lib.run.plan import plan_experiment
from tests.run.many import KINDS, TEXT, load, sweep

pytestmark = pytest.mark.usefixtures("fake_builds")


def test_a_shuffle_is_of_each_round_and_repeatable(workspace: Workspace) -> None:
    orders = []
    for seed in (1, 1, 2):
        cells = load(workspace, TEXT + f"order: {{shuffle: {seed}}}\n").cells()
        rounds = [[cell.dbms for cell in cells[:5]], [cell.dbms for cell in cells[5:]]]
        assert [sorted(names) for names in rounds] == [sorted(KINDS)] * 2
        assert [cell.repeat for cell in cells] == [1] * 5 + [2] * 5
        orders.append(rounds)
    assert orders[0] == orders[1] != orders[2]


@pytest.mark.slow
@pytest.mark.fault("F37")
@pytest.mark.slow
def test_what_is_done_is_not_run_again_and_an_edit_runs_what_it_changed(workspace: Workspace) -> None:
    assert len(sweep(workspace)) == 10
    assert sweep(workspace) == []
    edited = TEXT.replace("[cy10a, p1]}", "[cy10a, p1, lag]}")
    planned = plan_experiment(load(workspace, edited), workspace)
    assert Counter(entry.what for entry in planned) == {"done": 6, "changed": 4}
    assert {entry.cell.config.name for entry in planned if entry.what == "changed"} == {"p1"}
    assert sweep(workspace, edited) == ["a.p1-r1", "b56.p1-r1", "a.p1-r2", "b56.p1-r2"]
    assert sweep(workspace, edited.replace("title: many", "title: so many")) == []
    assert len(sweep(workspace, edited, again=True)) == 10


def test_only_and_except_choose_by_build_config_setup_and_dbms(workspace: Workspace) -> None:
    cells = TEXT.replace("repeats: 2", "repeats: 1")
    assert sweep(workspace, cells, only=["b*"], without=["p1"]) == ["a.base-r1", "b56.base-r1"]
    assert sweep(workspace, cells, only=["a.*"]) == ["a.p1-r1", "a.only_a-r1"], "a.base is done"
    assert sweep(workspace, cells, only=["mine"]) == ["b56.p1-r1"]
    with pytest.raises(UsageError, match="'ps\\*' matches no cell") as caught:
        sweep(workspace, cells, only=["ps*"])
    assert "only_a" in (caught.value.hint or "")
