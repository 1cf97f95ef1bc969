"""Which cells are to be run."""

from collections import Counter

import pytest

from ibench_lib.errors import UsageError
from ibench_lib.paths import Workspace
from ibench_lib.runner.plan import manifests, plan_experiment
from ibench_lib.store.annotations import annotate
from tests.runner.many import KINDS, TEXT, load, sweep

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
    assert sorted(sweep(workspace, edited)) == ["a.p1-r1", "a.p1-r2", "b56.p1-r1", "b56.p1-r2"]
    assert sweep(workspace, edited.replace("title: many", "title: so many")) == []
    assert len(sweep(workspace, edited, again=True)) == 10


def test_an_excluded_run_is_made_again_and_an_included_one_counts_again(workspace: Workspace) -> None:
    text = TEXT.replace("repeats: 2", "repeats: 1")
    assert len(sweep(workspace, text)) == 5
    (run_id,) = (run.run_id for run in manifests(workspace) if run.cell.dbms == "a.p1")
    run_dir = workspace.run_dir(run_id)
    annotate(run_dir, excluded="a backup ran")
    (entry,) = (entry for entry in plan_experiment(load(workspace, text), workspace) if entry.what != "done")
    assert (entry.cell.dbms, entry.what) == ("a.p1", "again")
    assert entry.note == f"its run {run_id} is excluded: a backup ran"
    annotate(run_dir, excluded=None)
    assert sweep(workspace, text) == []
    annotate(run_dir, excluded="a backup ran")
    assert sweep(workspace, text) == ["a.p1-r1"] and sweep(workspace, text) == []


def test_axes_are_planned_cell_by_cell_and_go_on_where_they_stopped(workspace: Workspace) -> None:
    text = TEXT.replace("repeats: 2", "repeats: 1").replace("clients: 2", "clients: [1, 4]")
    text += "vary: {innodb_io_capacity: [1k, 2k]}\n"
    name = "a.p1-innodb_io_capacity-2k"
    assert sweep(workspace, text, only=[name]) == [f"{name}-r1"] * 2
    planned = plan_experiment(load(workspace, text), workspace)
    assert Counter(entry.what for entry in planned) == {"done": 2, "new": 18}
    assert {entry.cell.clients for entry in planned if entry.what == "done"} == {1, 4}
    assert len(sweep(workspace, text, only=["*-clients-004"])) == 9


def test_only_and_except_choose_by_build_config_setup_and_dbms(workspace: Workspace) -> None:
    cells = TEXT.replace("repeats: 2", "repeats: 1")
    assert sweep(workspace, cells, only=["b*"], without=["p1"]) == ["a.base-r1", "b56.base-r1"]
    assert sweep(workspace, cells, only=["a.*"]) == ["a.p1-r1", "a.only_a-r1"], "a.base is done"
    assert sweep(workspace, cells, only=["mine"]) == ["b56.p1-r1"]
    with pytest.raises(UsageError, match="'ps\\*' matches no cell") as caught:
        sweep(workspace, cells, only=["ps*"])
    assert "only_a" in (caught.value.hint or "")


def test_rounds_are_shuffled_unless_asked_otherwise_and_alike_each_time(workspace: Workspace) -> None:
    loaded = load(workspace, TEXT)
    cells = loaded.cells()
    rounds = [[cell.dbms for cell in cells if cell.repeat == repeat] for repeat in (1, 2)]
    assert [cell.repeat for cell in cells] == sorted(cell.repeat for cell in cells), "round by round"
    assert rounds[0] != rounds[1] and sorted(rounds[0]) == sorted(rounds[1])
    assert [str(cell) for cell in load(workspace, TEXT).cells()] == [str(cell) for cell in cells]
    assert loaded.order_text.startswith("shuffle ")
    single = load(workspace, TEXT.replace("repeats: 2", "repeats: 1"))
    assert single.order_text == "interleaved" and [cell.rank for cell in single.cells()] == sorted(
        cell.rank for cell in single.cells()
    ), "a single round has the order of the file"
    assert {(cell.key, cell.rank) for cell in load(workspace, TEXT + "order: grouped\n").cells()} == {
        (cell.key, cell.rank) for cell in cells
    }
