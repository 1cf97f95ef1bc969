"""Answers that are kept from post to post: the same as before, and of nothing that has changed."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from ibench_lib import plugins
from ibench_lib.ask import kept
from ibench_lib.ask.ahead import VARIABLE
from ibench_lib.ask.selection import choose, chosen
from ibench_lib.paths import LAKE_VARIABLE, Workspace
from ibench_lib.store import annotations, catalogue, reader, state
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake

RUNS = (Run(), Run("b", minute=1))
ASKED = ("step_throughput", "steps", "checks")


@pytest.fixture(autouse=True)
def _place(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lake that processes open ahead, with an empty cache of the user's."""
    for variable, folder in {"IBENCH_HOME": workspace.root, "XDG_CACHE_HOME": tmp_path / "cache"}.items():
        monkeypatch.setenv(variable, str(folder))
    monkeypatch.setattr(state, "YOUNG_NS", 0)
    kept._folder.cache_clear()
    write_runs(workspace, *RUNS)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "ibench" / "answers"


@pytest.fixture(name="worked_out")
def _worked_out(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The questions that were asked of the lake."""
    names: list[str] = []
    run = reader._run

    def asked(connection: duckdb.DuckDBPyConnection, text: str, values: dict[str, object], what: str) -> pl.DataFrame:
        names.append(what.removeprefix("question "))
        return run(connection, text, values, what)

    monkeypatch.setattr(reader, "_run", asked)
    return names


def _answers() -> dict[str, pl.DataFrame]:
    """What a post that begins now gets."""
    reader.open_ahead()
    post = choose(reader.unshared_lake(), "demo")
    return {name: post.ask(name) for name in ASKED}


def test_a_post_that_is_built_again_gets_the_same_answers_and_asks_nothing(
    worked_out: list[str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ahead.json").write_text(json.dumps(ASKED))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "ahead.json"))
    first = _answers()
    assert {*ASKED, "known_runs", "selected_runs"} == set(worked_out)
    worked_out.clear()
    again = _answers()
    assert worked_out == []
    for name in ASKED:
        assert_frame_equal(first[name], again[name], check_exact=True)
        assert first[name].schema == again[name].schema
    assert folder.stat().st_mode & 0o777 == 0o700


def test_other_parameters_are_another_answer(worked_out: list[str]) -> None:
    _answers()
    worked_out.clear()
    reader.open_ahead()
    choose(reader.unshared_lake(), "demo", steps="l.i0").ask("step_throughput")
    assert worked_out == ["step_throughput"]


def test_what_a_notebook_does_with_the_connection_reaches_no_other_post(worked_out: list[str], folder: Path) -> None:
    reader.open_ahead()
    post = chosen({"experiment": "demo"})
    before = post.ask("steps")
    there = set(folder.iterdir())
    post.lake.execute("UPDATE run_steps SET step = 'renamed'")
    assert set(post.ask("step_throughput")["step"]) == {"renamed"}
    reader.open_ahead()
    own = reader.lake()  # one of the notebook's own
    own.execute("UPDATE run_steps SET step = 'renamed'")
    assert set(choose(own, "demo").ask("step_throughput")["step"]) == {"renamed"}
    assert set(folder.iterdir()) == there
    worked_out.clear()
    again = _answers()
    assert "step_throughput" in worked_out and "renamed" not in set(again["step_throughput"]["step"])
    assert_frame_equal(again["steps"], before, check_exact=True)


def _one_more(here: Workspace) -> None:
    write_runs(here, Run("c", minute=2))


CHANGES: dict[str, Callable[[Workspace], object]] = {
    "a new run": _one_more,
    "a run less": lambda here: shutil.rmtree(min(here.runs.iterdir())),
    "a run that is excluded": lambda here: annotations.annotate(min(here.runs.iterdir()), excluded="a neighbour"),
    "other content": lambda here: os.utime(min(here.runs.rglob("steps.parquet"))),
}


@pytest.mark.parametrize("change", CHANGES)
def test_after_any_change_of_a_run_everything_is_asked_again(
    change: str, workspace: Workspace, worked_out: list[str]
) -> None:
    _answers()
    worked_out.clear()
    CHANGES[change](workspace)
    changed = _answers()
    assert {*ASKED, "known_runs"} <= set(worked_out)
    shown = changed["step_throughput"]["run_id"].n_unique()
    assert shown == {"a new run": 3, "other content": 2}.get(change, 1)


def test_nothing_is_kept_where_a_change_may_not_show(
    workspace: Workspace, worked_out: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asks_again() -> bool:
        _answers()
        worked_out.clear()
        _answers()
        return set(ASKED) <= set(worked_out)

    choose(reader.unshared_lake(), "demo").ask("steps")  # opened by no kernel of a post: it may go on for hours
    with monkeypatch.context() as patch:
        patch.setattr(state, "YOUNG_NS", 3600 * 10**9)
        assert asks_again()
    with monkeypatch.context() as patch:
        patch.setattr(plugins, "added", lambda kind: {"queue": "acme"} if kind == "workloads" else {})
        assert asks_again()
    with monkeypatch.context() as patch:
        patch.setenv(LAKE_VARIABLE, str(workspace.runs))
        assert asks_again()
    opened = reader._opened

    def slowly(place: Workspace | str) -> duckdb.DuckDBPyConnection:
        _one_more(workspace)
        lake = opened(place)
        shutil.rmtree(max(workspace.runs.iterdir()))  # as if it had never been there
        _one_more(workspace)
        return lake

    with monkeypatch.context() as patch:
        patch.setattr(reader, "_opened", slowly)
        _answers()
    assert not folder.exists() or not list(folder.iterdir())


def test_only_the_users_own_whole_files_are_answers(worked_out: list[str], folder: Path, tmp_path: Path) -> None:
    right = _answers()
    files = {path: path.read_bytes() for path in folder.iterdir()}
    planted = tmp_path / "planted"
    for damage in (lambda old: old[:-1], lambda old: old[:40] + b"~" + old[41:], lambda _: b""):
        for path, content in files.items():
            path.write_bytes(damage(content))
        worked_out.clear()
        assert_frame_equal(_answers()["step_throughput"], right["step_throughput"], check_exact=True)
        assert set(ASKED) <= set(worked_out)
    for path in files:
        shutil.copy(path, planted)
        path.unlink()
        path.symlink_to(planted)
    worked_out.clear()
    _answers()
    assert set(ASKED) <= set(worked_out)
    folder.chmod(0o777)
    kept._folder.cache_clear()
    worked_out.clear()
    _answers()
    assert set(ASKED) <= set(worked_out)


def test_a_cache_that_cannot_be_written_is_done_without(worked_out: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    for _ in range(2):
        worked_out.clear()
        _answers()
        assert set(ASKED) <= set(worked_out)


def test_answers_that_are_too_large_or_too_many_are_not_kept(
    worked_out: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_LONGEST", 10)
    _answers()
    assert list(folder.iterdir()) == []
    monkeypatch.setattr(kept, "_LONGEST", 10_000_000)
    _answers()
    assert len(list(folder.iterdir())) > 3
    monkeypatch.setattr(kept, "_MOST_FILES", 3)
    kept._folder.cache_clear()  # as in another process
    kept._folder()
    assert len(list(folder.iterdir())) == 3


def test_no_question_depends_on_the_clock_the_time_zone_or_chance() -> None:
    depends = re.compile(r"(?i)\b(now|today|current_(date|time|timestamp)|random|uuid|setseed|timestamptz|time zone)\b")
    for piece in catalogue.pieces():
        code = re.sub(r"--.*", "", piece.text)
        assert not depends.search(re.sub(r"'[^']*'", "", code)), piece.place
    for name in catalogue.questions():
        assert not [row for row in reader.described(f"questions.{name}") if "ZONE" in row[1]], name
