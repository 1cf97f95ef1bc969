"""A post's file for an experiment that has none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ibench_lib.errors import NameRefused, ParameterError
from ibench_lib.paths import Workspace
from ibench_lib.publish.new_post import new_post
from ibench_lib.publish.post_file import check_post
from tests.command import ibench, refused
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake


@pytest.fixture
def measured(place: Workspace) -> Workspace:
    write_runs(place, Run(title='Purge "lag": <b>'))
    return place


def test_it_has_the_experiments_title_and_its_workloads_notebook(
    measured: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IBENCH_AUTHOR", "A. Tester")
    path, made = new_post("demo", measured)
    assert made and path == measured.root / "papermill_params" / "insert_benchmark" / "demo.yml"
    checked = check_post(path, measured)
    assert (checked.spec.title, checked.spec.author, checked.spec.slug) == ('Purge "lag": <b>', "A. Tester", "demo")
    assert checked.spec.parameters["experiment"] == "demo" and checked.day is None
    path.write_text(path.read_text().replace('demo"', 'demo"', 1) + "tldr: mine\n")
    assert new_post("demo", measured) == (path, False), "it is the author's from then on"
    assert "tldr: mine" in path.read_text()
    other, _ = new_post("demo", measured, "purge_lag")
    spec = check_post(other, measured).spec
    assert (spec.slug, spec.title) == ("demo-purge-lag", 'Purge "lag": <b>: purge lag'), "a list tells the two apart"


@pytest.mark.parametrize(
    ("git", "user", "author"),
    [("Ann Émile", "ann", "Ann Émile"), ("", "ann", "ann"), ("", "root", ""), ("Ann", "root", "Ann")],
)
def test_the_author_is_gits_user_or_the_account_but_never_root(
    git: str, user: str, author: str, measured: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text(f"[user]\nname = {git}\n" if git else "")
    for name, value in {"GIT_CONFIG_GLOBAL": str(settings), "GIT_CONFIG_SYSTEM": os.devnull, "LOGNAME": user}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "none"))
    monkeypatch.delenv("IBENCH_AUTHOR", raising=False)
    path, _ = new_post("demo", measured)
    assert check_post(path, measured).spec.author == author
    assert ("# author: your name" in path.read_text()) is (author == "")


def test_what_is_not_there_is_one_line_and_writes_nothing(measured: Workspace) -> None:
    with pytest.raises(ParameterError, match=r"experiment 'dem' has no run in the lake; did you mean 'demo'\?"):
        new_post("dem", measured)
    with pytest.raises(ParameterError, match=r"notebook 'purge' does not exist in notebooks/; "):
        new_post("demo", measured, "purge")
    with pytest.raises(NameRefused):
        new_post("../demo", measured)
    assert not (measured.root / "papermill_params").exists()


def test_the_command_takes_a_file_or_an_experiment(measured: Workspace) -> None:
    unclear = "give FILE, `new EXPERIMENT` or `--experiment NAME`"
    for words in (
        [], ["a.yml", "--experiment", "demo"], ["a.yml", "b.yml"], ["new"],
        ["new", "demo", "--experiment", "demo"], ["--notebook", "waits"],
    ):  # fmt: skip
        refused(ibench(measured, "post", *words), unclear)
    refused(ibench(measured, "post", "a.yml", "--notebook", "wait"), "notebook 'wait' does not exist", ", waits")
    refused(ibench(measured, "post", "a.yml", "--notebook", "waits"), "a.yml names its notebook itself", "`notebook:`")
    refused(ibench(measured, "post", "demo"), "demo: a post is a .yml file", "ibench post --experiment demo")
    ibench(measured, "post", "new", "demo")
    refused(ibench(measured, "post", "new", "demo"), "papermill_params/insert_benchmark/demo.yml already exists")
    refused(ibench(measured, "post", "--experiment", "dem"), "did you mean 'demo'?")
