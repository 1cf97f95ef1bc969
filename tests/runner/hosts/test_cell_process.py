"""A worker's cell whose runs go to a store: what is there already, or comes there meanwhile, is not pushed again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.errors import LakeError, WorkerFailed
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.hosts import cell_process
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.plan import manifests
from ibench_lib.store.manifest import write_manifest
from ibench_lib.store.transfer import open_store
from tests.fakes.sweep import fake_build, fake_run
from tests.runner.hosts.lab import write


class Hosts:
    """Two workers, each with a lake of its own, and the store to which both push."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.store = f"file://{root / 'shared'}"
        self.places = {name: Workspace(root / name) for name in ("one", "two")}
        for place in self.places.values():
            place.root.mkdir()
        self.experiment = load_experiment(write(self.places["one"]))
        self.patch = patch
        patch.setattr(cell_process, "find_build", fake_build)
        patch.setattr(cell_process, "run_cell", fake_run)

    def cell(self, worker: str, position: int = 1, known: list[str] | None = None) -> dict[str, Any]:
        """The worker's answer to a request for a cell. `known`: the runs that were in the store at planning."""
        (cell,) = (cell for cell in self.experiment.cells() if cell.position == position)
        place = self.places[worker]
        wanted = cell_process.plan_cell(self.experiment, cell, fake_build(cell.build_label, place)).fingerprint
        return cell_process.run(self.experiment, position, wanted, self.store, place, known or [])

    def meanwhile(self, act: Callable[[], Any]) -> None:
        """`act` happens while the next cell runs."""

        def run(*arguments: Any) -> Any:
            self.patch.setattr(cell_process, "run_cell", fake_run)
            made = fake_run(*arguments)
            act()
            return made

        self.patch.setattr(cell_process, "run_cell", run)

    def in_store(self) -> list[str]:
        return open_store(self.store).run_ids()

    def made(self, worker: str) -> list[str]:
        return [run.run_id for run in manifests(self.places[worker])]


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosts:
    return Hosts(tmp_path, monkeypatch)


def test_a_worker_that_was_given_up_does_not_push_what_another_has_completed(hosts: Hosts) -> None:
    """The network parts worker two from the others: its cell is run by worker one, then both have a complete run."""
    hosts.meanwhile(lambda: hosts.cell("one"))
    late = hosts.cell("two")
    (stored,) = hosts.in_store()
    assert [stored] == hosts.made("one") and late["run_id"] == stored and "error" not in late
    assert len(hosts.made("two")) == 1, "what it measured stays in its own lake"


def test_what_a_worker_pushed_before_it_died_is_the_run_of_its_cell(hosts: Hosts) -> None:
    hosts.cell("two")  # nobody gets this answer
    again = hosts.cell("one")
    assert hosts.in_store() == [again["run_id"]] == hosts.made("two") and hosts.made("one") == []


def test_runs_known_at_planning_are_no_reason_not_to_run_again(hosts: Hosts) -> None:
    before = hosts.cell("two")["run_id"]
    again = hosts.cell("one", known=[before])["run_id"]
    assert hosts.in_store() == sorted([before, again]) and before != again


def test_runs_of_other_cells_and_runs_that_failed_do_not_stand_for_a_cell(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts.cell("two", position=2)

    def fails(experiment: Any, planned: Any, place: Workspace, observer: Observer) -> None:
        made = fake_run(experiment, planned, place, observer)
        made.status, made.error = "failed", "it is broken"
        write_manifest(place.run_dir(made.run_id), made)
        raise WorkerFailed("it is broken")

    monkeypatch.setattr(cell_process, "run_cell", fails)
    failed = hosts.cell("two")
    assert failed["error"]["what"] == "it is broken" and failed["run_id"] in hosts.in_store()
    monkeypatch.setattr(cell_process, "run_cell", fake_run)
    again = hosts.cell("one")
    assert again["run_id"] in hosts.made("one") and len(hosts.in_store()) == 3


def test_a_run_of_a_store_that_cannot_be_read_stands_for_nothing(hosts: Hosts) -> None:
    odd = Path(hosts.store.removeprefix("file://")) / "odd"
    odd.mkdir(parents=True)
    (odd / "manifest.json").write_text("{}")
    made = hosts.cell("one")["run_id"]
    assert hosts.in_store() == sorted(["odd", made])


@pytest.mark.parametrize("fails", [False, True])
def test_a_run_that_a_lost_store_did_not_take_is_named_with_where_it_is(hosts: Hosts, fails: bool) -> None:
    def lose_the_store() -> None:
        hosts.patch.setattr(cell_process, "push", lost)
        if fails:
            raise WorkerFailed("it is broken")

    def lost(*_: Any) -> None:
        raise LakeError("s3://lab/runs: no answer")

    hosts.meanwhile(lose_the_store)
    answer = hosts.cell("one")
    (run_id,) = hosts.made("one")
    assert answer.keys() == {"error"}, "no run that the store does not have is spoken of as one"
    told = answer["error"]
    assert told["what"].startswith("it is broken; " if fails else f"run {run_id} was not pushed")
    assert str(hosts.places["one"].runs) in told["what"] and "s3://lab/runs: no answer" in told["what"]
    assert f"`ibench runs push {hosts.store} {run_id}`" in told["hint"]
