"""Dips that are worked out ahead: the same answers, from fewer files."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import pytest
from polars.testing import assert_frame_equal

from ibench_lib.ask import dips
from ibench_lib.ask.selection import choose
from ibench_lib.store import narrow, reader
from tests.places import ROOT
from tests.shared import lake_of
from tests.store.test_dips import CASES, STALLED
from tests.synthetic import Run

pytestmark = [pytest.mark.lake, pytest.mark.slow]

EVEN = Run("even", minute=1)
SLOW = CASES["free_pages"][0]
FAILED = replace(STALLED, dbms="system.failed", minute=2, status="failed", failed_step="qr100")
QUESTIONS = ("dips", "steadiness")
LAKES = {"nothing": (), "no dip": (EVEN,), "one dip": (SLOW,), "several runs": (SLOW, EVEN, FAILED)}


@pytest.mark.parametrize("steps", [(), ("l.i1",)], ids=["all steps", "l.i1"])
@pytest.mark.parametrize("runs", LAKES.values(), ids=LAKES)
def test_the_answers_are_those_of_the_questions(runs: tuple[Run, ...], steps: tuple[str, ...]) -> None:
    post = choose(lake_of(*runs), runs=[run.run_id for run in runs], steps=steps)
    plain = [reader.question(post.lake, name, runs=post.run_ids, steps=list(steps)) for name in QUESTIONS]
    dips.ask_dips(post, "steadiness")
    for name, answer in zip(QUESTIONS, plain, strict=True):
        assert_frame_equal(post.ask(name), answer, rel_tol=1e-12)
    assert post.ask("dips").is_empty() == (SLOW not in runs)


@pytest.mark.long
@pytest.mark.parametrize("experiment", ["stalls", "regression", "sysbench_versions", "postgres_innodb_small"])
def test_the_answers_are_those_of_the_questions_in_the_sample(experiment: str) -> None:
    lake = reader.lake(str(ROOT / "data" / "sample"))
    together, plain = choose(lake, experiment), choose(lake, experiment)
    dips.ask_dips(together, "steadiness")
    for name in QUESTIONS:
        # Threads add up floating point numbers in any order.
        assert_frame_equal(together.ask(name), plain.ask(name), rel_tol=1e-12)


def test_samples_are_read_of_the_runs_that_have_dips(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[set[str]] = []

    def noted(connection: duckdb.DuckDBPyConnection, files: narrow.Files) -> None:
        read.append(
            {path.rsplit("/", 2)[-2] for variable, paths in files if "server_samples" in variable for path in paths}
        )
        narrow.read_only(connection, files)

    monkeypatch.setattr(dips, "read_only", noted)
    runs = (SLOW, EVEN)
    dips.ask_dips(choose(lake_of(*runs), runs=[run.run_id for run in runs]))
    assert read == [{SLOW.run_id}]


def test_what_was_worked_out_is_not_asked_again_and_no_other_selection_reads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lake = lake_of(SLOW, EVEN)
    post, other = choose(lake, runs=[SLOW.run_id, EVEN.run_id]), choose(lake, runs=[EVEN.run_id])
    dips.ask_dips(post, "steadiness")
    steadiness = other.ask("steadiness")
    assert steadiness["run_id"].unique().to_list() == [EVEN.run_id] and steadiness["rated_seconds"].sum() > 0
    monkeypatch.setattr(reader, "question", lambda *_arguments, **_values: pytest.fail("asked again"))
    assert len(post.ask("dips")) == 1 and post.ask("steadiness")["run_id"].n_unique() == 2


def test_where_the_seconds_cannot_be_kept_the_selection_asks_as_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_arguments: object) -> None:
        raise duckdb.IOException("the disk is full")

    post = choose(lake_of(SLOW), runs=[SLOW.run_id])
    monkeypatch.setattr(dips, "work_out", refused)
    dips.ask_dips(post, "steadiness")
    assert not post.known.answers.keys() & {(name, repr(post._given_for(name))) for name in QUESTIONS}
    assert len(post.ask("dips")) == 1
