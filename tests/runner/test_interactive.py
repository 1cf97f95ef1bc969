"""`ib.plan` and `ib.run`: an experiment from Python, with the same result as from the command line."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import ibench_lib as ib
from ibench_lib.errors import CellsFailed, ExperimentError
from ibench_lib.paths import Workspace
from ibench_lib.runner import interactive, sweep
from ibench_lib.runner.events import event_log, read_events
from tests.experiment.two import TEXT
from tests.fakes.sweep import fake_run, use_fake_builds

pytestmark = pytest.mark.lake


@pytest.fixture
def place(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("IBENCH_HOME", str(workspace.root))
    return workspace


@pytest.fixture
def experiment(place: Workspace, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_fake_builds(monkeypatch.setattr)
    monkeypatch.setattr(interactive, "run_experiment", partial(sweep.run_experiment, run=fake_run))
    path = place.root / "experiments" / "two.yaml"
    path.parent.mkdir()
    path.write_text(TEXT)
    return path


def test_a_run_returns_its_ids_prints_lines_and_is_not_made_again(
    experiment: Path, place: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    planned = ib.plan("experiments/two.yaml")
    assert set(planned["what"]) == {"new"} and planned["seconds"].min() > 0
    assert planned["position"].to_list() == list(range(1, len(planned) + 1))
    made = ib.run("experiments/two.yaml")
    assert len(made) == len(planned) and all(place.run_dir(run_id).is_dir() for run_id in made)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"cell 1 of {len(made)}: ") and lines[1] == f"    complete: {made[0]}"
    events, _ = read_events(event_log(place, "two"))
    assert events[-1]["event"] == "experiment_ends", "`ibench status` can tell"
    after = ib.plan(experiment)
    assert after["run_id"].to_list() == made and set(after["what"]) == {"done"}
    assert after["seconds"].null_count() == len(made)
    assert ib.run(experiment) == made
    assert "already complete" in capsys.readouterr().out


def test_cells_are_chosen_by_globs_and_what_fails_is_an_error(experiment: Path) -> None:
    first = ib.plan(experiment)["dbms"][0]
    assert set(ib.plan(experiment, only=[first])["dbms"]) == {first}
    with pytest.raises(ExperimentError, match="no such file"):
        ib.plan("experiments/none.yaml")
    experiment.write_text(TEXT.replace("name: lag", "name: broken"))
    with pytest.raises(CellsFailed, match="8 of 16 cells failed"):
        ib.run(experiment)
