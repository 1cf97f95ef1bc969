"""`ibench runs`: what is listed, how, and in how much room; archives of runs."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from ibench_lib.cli import output, runs
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.command import ibench, refused
from tests.store.test_host_taken import BUSY, STOLEN, counters
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake

BAD = Run("bad", minute=1, status="failed", failed_step="l.i1", error="lost\nagain", steps=("l.i0", "l.x", "l.i1"))


def listed(workspace: Workspace, *words: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(ibench(workspace, "runs", "-f", "csv", *words).stdout)))


def failed(result: subprocess.CompletedProcess[str], words: str) -> None:
    assert result.returncode == 1 and words in result.stderr and "Traceback" not in result.stderr, result.stderr


def test_runs_are_chosen_by_experiment_status_and_age(workspace: Workspace) -> None:
    write_runs(workspace, Run(), BAD, Run(minute=2, experiment="other"))
    assert [run["status"] for run in listed(workspace)] == ["complete", "failed", "complete"]
    assert [run["run_id"] for run in listed(workspace, "--last", "1")] == [Run(minute=2, experiment="other").run_id]
    assert [run["run_id"] for run in listed(workspace, "-e", "demo", "--status", "failed")] == [BAD.run_id]
    (bad,) = json.loads(ibench(workspace, "runs", "--status", "failed", "--format", "json").stdout)
    assert (bad["steps_done"], bad["note"]) == (2, "in l.i1: lost\nagain")
    refused(ibench(workspace, "runs", "-e", "dem"), "no run has experiment 'dem'; did you mean 'demo'?")
    refused(ibench(workspace, "runs", "--status", "good"), "no run has status 'good'; known: complete, failed")


def test_a_busy_host_is_listed_with_its_share_in_every_format(workspace: Workspace) -> None:
    busy, quiet = Run("busy", also=BUSY, warnings=("swap",)), Run("quiet", minute=1, also=counters())
    write_runs(workspace, busy, quiet, Run("old", minute=2))
    said = "qr100: other processes used 20 % of the CPUs"
    lines = ibench(workspace, "runs").stdout.splitlines()
    assert [f"busy host in {said}" in line for line in lines] == [False, True, False, False]
    by_format = {form: ibench(workspace, "runs", "-f", form).stdout for form in ("json", "csv")}
    found = {run["dbms"]: (run["taken_share"], run["busy_host"]) for run in json.loads(by_format["json"])}
    assert found == {
        "system.busy": (pytest.approx(0.2), said), "system.quiet": (None, None), "system.old": (None, None)
    }  # fmt: skip
    assert [run["busy_host"] for run in csv.DictReader(io.StringIO(by_format["csv"]))] == [said, "", ""]
    assert listed(workspace, "--last", "1")[0]["taken_share"] == ""


def test_the_step_with_most_other_work_is_named_of_several(workspace: Workspace) -> None:
    earlier = [("step_counters", {**row, "step_id": 2, "step": "l.i1"}) for _, row in STOLEN]
    write_runs(workspace, Run("busy", also=(*BUSY, *earlier)))
    (run,) = listed(workspace)
    most = "l.i1: other processes used 20 % of the CPUs and the hypervisor kept 30 % of the CPUs"
    assert run["note"] == f"busy host in 2 steps, most in {most}"
    assert run["busy_host"] == f"{most}; qr100: other processes used 20 % of the CPUs"


def test_a_list_needs_no_file_of_a_run(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    write_runs(workspace, Run("busy", also=BUSY))
    monkeypatch.setattr("ibench_lib.store.narrow.files_of", lambda *_: [("x y", ["z"])])
    done = ibench(workspace, "runs")
    assert Run("busy").run_id in done.stdout and "not known: whether hosts were busy: " in done.stderr


def test_a_narrow_terminal_has_whole_run_ids_and_notes_below(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_runs(workspace, Run(), BAD)
    assert ibench(workspace, "runs").stdout.splitlines()[0].split() == [
        "run", "status", "dbms", "setup", "server", "steps", "done", "note"
    ]  # fmt: skip
    monkeypatch.setattr(output.out, "width", 80)
    lake = reader.lake(workspace)
    with reader.rows(lake, runs._LISTED) as (names, rows):
        runs._print_runs([dict(zip(names, row, strict=True)) for row in rows])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split() for line in lines] == [
        ["run", "status", "steps"],
        [Run().run_id, "complete", "4"],
        [BAD.run_id, "failed", "2"],
        ["in", "l.i1:", "lost", "again"],
    ]


@pytest.mark.slow
def test_an_archive_of_runs_is_read_elsewhere_and_taken_in(workspace: Workspace, tmp_path: Path) -> None:
    write_runs(workspace, Run(), Run("other", minute=1))
    path = tmp_path / "runs.zip"
    assert "2 of 2 runs pushed" in ibench(workspace, "runs", "push", str(path)).stdout
    assert [*tmp_path.glob(".*")] == []
    failed(ibench(workspace, "runs", "push", str(path)), f"{path} exists already")
    elsewhere = Workspace(tmp_path / "elsewhere")
    elsewhere.data.mkdir(parents=True)
    read = ibench(elsewhere, "sql", "-f", "csv", "SELECT count(*) AS n FROM ops", IBENCH_LAKE=str(path)).stdout
    here = ibench(workspace, "sql", "-f", "csv", "SELECT count(*) AS n FROM ops").stdout
    assert read == here and int(here.split()[1]) > 0
    refused(ibench(elsewhere, "runs", "pull", str(path), "nope*"), f"there is no run 'nope*' in {path}")
    assert "1 of 1 run pulled" in ibench(elsewhere, "runs", "pull", str(path), "*-other-r1").stdout
    assert "1 of 2 runs pulled" in ibench(elsewhere, "runs", "pull", str(path)).stdout
    for run in (Run(), Run("other", minute=1)):
        for file in workspace.run_dir(run.run_id).iterdir():
            assert (elsewhere.run_dir(run.run_id) / file.name).read_bytes() == file.read_bytes()
    assert "2 runs verified" in ibench(elsewhere, "runs", "verify").stdout
    shipped = Run("shipped", minute=2)
    write_runs(elsewhere, shipped)
    elsewhere.sample.mkdir()
    elsewhere.run_dir(shipped.run_id).rename(elsewhere.sample / shipped.run_id)
    assert f"{shipped.run_id}: good" in ibench(elsewhere, "runs", "verify", shipped.run_id).stdout


@pytest.mark.slow
def test_a_damaged_archive_leaves_nothing(workspace: Workspace, tmp_path: Path) -> None:
    write_runs(workspace, Run())
    path = tmp_path / "runs.zip"
    ibench(workspace, "runs", "push", str(path))
    elsewhere = Workspace(tmp_path / "elsewhere")
    elsewhere.data.mkdir(parents=True)
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(tmp_path / "changed.zip", "w") as changed:
        for name in whole.namelist():
            content = whole.read(name)
            changed.writestr(name, content[:-1] + b"x" if name.endswith("ops.parquet") else content)
    failed(ibench(elsewhere, "runs", "pull", str(tmp_path / "changed.zip")), "is not what its manifest vouches for")
    (tmp_path / "cut.zip").write_bytes(path.read_bytes()[:1000])
    failed(ibench(elsewhere, "runs", "pull", str(tmp_path / "cut.zip")), "not a zip file, or damaged")
    failed(ibench(elsewhere, "runs", "pull", str(tmp_path / "no.zip")), "no.zip: No such file")
    assert not [*elsewhere.runs.glob("*")]


def test_runs_are_meant_by_id_beginning_or_glob_and_shown_before_they_are_deleted(workspace: Workspace) -> None:
    first, second, third = Run(), Run(minute=1), Run("other", minute=2)
    write_runs(workspace, first, second, third)
    asked = ibench(workspace, "runs", "remove", "20261121T1000", "*-other-*")
    assert asked.returncode == 1 and len(listed(workspace)) == 3, "nobody said yes"
    assert first.run_id in asked.stderr and third.run_id in asked.stderr and second.run_id not in asked.stderr
    assert "Delete 2 runs permanently?" in asked.stderr
    assert "Delete 1 run permanently?" in ibench(workspace, "runs", "remove", first.run_id).stderr
    refused(ibench(workspace, "runs", "remove", "-y", "2026"), "3 runs begin with '2026'", first.run_id)
    for pattern in ("*-none-*", "20301121", "../x"):
        refused(ibench(workspace, "runs", "remove", "-y", first.run_id, pattern), f"there is no run '{pattern}'")
    assert len(listed(workspace)) == 3, "one that is not there keeps the others"
    assert ibench(workspace, "runs", "remove", "-y", "*-cy10a-*").returncode == 0
    assert [run["run_id"] for run in listed(workspace)] == [third.run_id]


def test_notes_tags_and_exclusions_are_listed_and_undone(workspace: Workspace) -> None:
    first, second = Run(), Run("other", minute=1)
    write_runs(workspace, first, second)
    ibench(workspace, "runs", "note", first.run_id, "a [backup] ran")
    assert "tagged quiet, old" in ibench(workspace, "runs", "tag", "*", "quiet", "old").stdout
    ibench(workspace, "runs", "untag", first.run_id, "old")
    ibench(workspace, "runs", "exclude", second.run_id, "--why", "too noisy")
    one, two = listed(workspace)
    assert (one["note"], one["tags"], one["excluded"]) == ("#quiet; a [backup] ran", "quiet", "")
    assert (two["note"], two["tags"], two["excluded"]) == ("excluded: too noisy; #quiet #old", "quiet old", "too noisy")
    assert [run["run_id"] for run in listed(workspace, "--tag", "old")] == [second.run_id]
    newest = ibench(workspace, "runs", "list", "-t", "quiet", "-n", "1", "-f", "json").stdout
    assert [run["run_id"] for run in json.loads(newest)] == [second.run_id]
    refused(ibench(workspace, "runs", "-t", "old", "remove", "-y", "*"), "options before `remove` have no effect")
    assert "excluded: too noisy" in ibench(workspace, "runs", "list").stdout
    refused(ibench(workspace, "runs", "--tag", "odl"), "no run has tag 'odl'; did you mean 'old'?")
    refused(ibench(workspace, "runs", "untag", first.run_id, "old"), "has no tag 'old'")
    refused(ibench(workspace, "runs", "include", first.run_id), "none of these runs is excluded")
    refused(ibench(workspace, "runs", "exclude", "nope", "--why", "x"), "there is no run 'nope'")
    refused(ibench(workspace, "runs", "tag", first.run_id, "a b"), "tag 'a b'", "use letters, digits")
    assert ibench(workspace, "runs", "include", "*-other-*").stdout == f"{second.run_id}: included\n"
    ibench(workspace, "runs", "note", first.run_id, "")
    assert [run["note"] for run in listed(workspace)] == ["#quiet", "#quiet #old"]


def test_an_empty_place_has_nothing_to_pull(workspace: Workspace, tmp_path: Path) -> None:
    workspace.data.mkdir(exist_ok=True)
    (tmp_path / "empty").mkdir()
    refused(ibench(workspace, "runs", "pull", str(tmp_path / "empty")), "there is no run in")
