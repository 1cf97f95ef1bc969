"""A run is named by its id, a beginning, a glob or its experiment, in every command that takes runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ibench_lib.cli.run_names import fitting, of_lake
from ibench_lib.errors import UsageError
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.command import ibench, refused
from tests.store.test_dips import CASES
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake

OLD, NEW, OTHER = Run(), Run(minute=1), Run("z", minute=2, experiment="other")
KNOWN = [OLD.run_id, NEW.run_id, OTHER.run_id]
EXPERIMENTS = dict(zip(KNOWN, ("demo", "demo", "other"), strict=True))


def test_runs_are_meant_by_id_beginning_glob_or_experiment() -> None:
    def meant(*patterns: str) -> list[str]:
        return fitting(patterns, KNOWN, "here", "look", EXPERIMENTS.get)

    assert meant(OTHER.run_id) == meant("20261121T1002") == meant("*-z-*") == meant("other") == [OTHER.run_id]
    assert meant("demo") == KNOWN[:2] and meant("other", "*", OLD.run_id) == [OTHER.run_id, *KNOWN[:2]]
    for wrong, said in (("nothing", "there is no run 'nothing' in here"), ("2026", "3 runs begin with '2026'")):
        with pytest.raises(UsageError, match=said):
            meant(wrong)


def test_an_experiment_of_a_lake_means_the_runs_that_count(workspace: Workspace) -> None:
    write_runs(workspace, OLD, NEW, OTHER)
    assert of_lake(reader.lake(workspace), ["demo"]) == [NEW.run_id]
    assert of_lake(reader.lake(workspace), ["demo", OLD.run_id]) == [NEW.run_id, OLD.run_id]
    ibench(workspace, "runs", "exclude", NEW.run_id, "--why", "a backup ran")
    assert of_lake(reader.lake(workspace), ["demo"]) == [OLD.run_id], "the latest of those that count"


@pytest.mark.slow
def test_every_command_that_takes_runs_takes_an_experiment(workspace: Workspace, tmp_path: Path) -> None:
    slow, _ = CASES["free_pages"]
    write_runs(workspace, slow, OTHER)
    for words in (["demo"], [slow.run_id[:15]], ["*-slow-*"]):
        found = json.loads(ibench(workspace, "stalls", *words, "--json").stdout)
        assert {dip["run_id"] for dip in found} == {slow.run_id}
    assert ibench(workspace, "runs", "verify", "other").stdout.count("good") == 1
    assert "nothing to recover" in ibench(workspace, "runs", "recover").stdout
    assert "1 of 1 run pushed" in ibench(workspace, "runs", "push", str(tmp_path / "there"), "other").stdout
    for words in (["note", "other", "x"], ["tag", "other", "t"], ["untag", "other", "t"],
                  ["exclude", "other", "--why", "x"], ["include", "other"]):  # fmt: skip
        done = ibench(workspace, "runs", *words)
        assert (done.returncode, done.stdout.count(OTHER.run_id)) == (0, 1), done.stderr
    refused(ibench(workspace, "profile", "export", "*", "--step", "l.i1"), "2 runs fit '*'", slow.run_id)
    assert ibench(workspace, "runs", "remove", "-y", "other").returncode == 0
    assert not workspace.run_dir(OTHER.run_id).exists() and workspace.run_dir(slow.run_id).exists()


@pytest.mark.parametrize(
    "words",
    [
        ["runs"],
        ["sql", "SELECT 1 AS x"],
        *(
            pytest.param(words, marks=pytest.mark.long)
            for words in (
                ["runs", "list"], ["summary"], ["compare", "system.a", "system.b"], ["stalls"],
                ["explain", "system.a", "system.b", "--step", "l.i1"], ["changes"],
            )
        ),
    ],
)  # fmt: skip
def test_json_is_asked_for_in_either_way(workspace: Workspace, words: list[str]) -> None:
    runs = [Run(config, repeat=n, minute=10 * place + n) for place, config in enumerate("ab") for n in (1, 2, 3)]
    write_runs(workspace, *runs)
    ways = [ibench(workspace, *words, *more) for more in (["--json"], ["--format", "json"])]
    assert ways[0].stdout == ways[1].stdout and ways[0].returncode == ways[1].returncode
    if ways[0].returncode == 0:
        json.loads(ways[0].stdout)
        assert ibench(workspace, *words).stdout[:1] not in ("[", "{")
