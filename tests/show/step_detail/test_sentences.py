"""Sentences about how steady a step was."""

from __future__ import annotations

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import Selection
from ibench_lib.paths import Workspace
from ibench_lib.show.step_detail.detail import StepDetail
from ibench_lib.store import reader
from tests.shared import asked
from tests.show.stalled import STALLED, l_i1, l_i1_of, one
from tests.synthetic import Run, begin_run, die, flushed

pytestmark = pytest.mark.lake


@pytest.mark.slow
def test_a_stall_is_the_seconds_under_half_of_the_median() -> None:
    post = l_i1_of(Run(), STALLED)
    (stall,) = post.ask("stalls").to_dicts()
    # Both clients insert 25,000 rows in the ten seconds that are left of twelve.
    assert {name: stall[name] for name in ("dbms", "stall", "from_s", "to_s", "seconds", "rate", "median_rate")} == {
        "dbms": "system.slow", "stall": 1, "from_s": 4, "to_s": 6, "seconds": 2, "rate": 0.0, "median_rate": 5000.0,
    }  # fmt: skip
    assert (stall["clients_seen"], stall["clients"]) == (2, 2)
    assert stall["max_response_s"] == 2.1  # it ended in second 6, after the stall
    steady, slow = post.ask("steadiness").to_dicts()
    assert (steady["stalls"], steady["stalled_seconds"], steady["longest_s"]) == (0, 0, None)
    assert (slow["stalls"], slow["stalled_seconds"], slow["longest_s"], slow["longest_from_s"]) == (1, 2, 2, 4)
    assert (slow["rated_seconds"], slow["min_rate"], slow["max_response_s"]) == (12, 0.0, 2.1)
    assert told(post) == [
        "l.i1, system.cy10a: 5,000 inserts/s in the median second, worst response 2.0 ms; no dip in 10 full seconds, "
        "the slowest had 5,000.",
        "l.i1, system.slow: 5,000 inserts/s in the median second, worst response 2.100 s; 1 dip of 2 s (of 12 s) cost "
        "16.7 % of the step's work at its median rate, cause unexplained.",
    ]


def test_an_index_step_has_no_stalls_and_a_query_step_is_judged_by_its_queries() -> None:
    steps = asked("steadiness", Run())
    assert one(steps, step="l.x")["rated_seconds"] is None
    assert one(steps, step="qr100")["median_rate"] == 1000.0
    (said,) = ib.steadiness_statements(steps.filter(step="l.x"), asked("dips", Run()))
    assert said == (
        "l.x, system.cy10a: the step is one statement per index and client, so there is no rate per second and there "
        "are no dips."
    )


def test_a_median_of_nothing_tells_no_stall() -> None:
    post = l_i1_of(Run(stall=(1, 2, 3, 4, 5, 6)))
    row = post.ask("steadiness")
    assert (row["median_rate"][0], row["stalls"][0]) == (0.0, 0)
    (said,) = told(post)
    assert said.startswith("l.i1, system.cy10a: 0 inserts/s in the median second, worst response ")
    assert said.endswith("; with that median in 10 full seconds, dips cannot be recognised.")


@pytest.mark.long
@pytest.mark.slow
def test_a_step_that_runs_is_judged_only_as_far_as_every_client_has_reported(workspace: Workspace) -> None:
    live = Run("live", status="running", steps=("l.i0", "l.x", "l.i1"), l_i1_s=10)
    writer = begin_run(workspace, live, sealed=("l.i0", "l.x"))
    # One of the two inserters has reported a second more.
    ops = reader.sql(reader.lake(workspace), "FROM ops WHERE step = 'l.i1' AND worker = 0 AND second = 9")
    writer.append("ops", **{**ops.drop("run_id").to_dicts()[0], "second": 10})
    flushed(writer)
    try:
        post = l_i1(workspace)
        row = post.ask("steadiness").row(0, named=True)
        assert (row["step_status"], row["full_seconds"], row["rated_seconds"], row["stalls"]) == ("running", 10, 10, 0)
        detail = ib.step_detail(post.ask)
        title = ib.step_detail_chart(detail.series, detail=detail).layout.meta["title"]
        assert title == "l.i1, cached: system.live (l.i1: running)"
        (said,) = told(post)
        assert said.startswith(
            "l.i1, system.live: it is running; its first 11.0 s are shown; 5,000 inserts/s in the median second"
        )
        (to_do,) = told(ib.choose(post.lake, "demo", steps=["qr100"]))
        assert to_do == "qr100, system.live: it has not begun."
    finally:
        die(writer)


def test_a_failed_step_says_how_far_it_went(detail: StepDetail) -> None:
    said = ib.steadiness_statements(detail.steadiness, detail.dips)[-1]
    assert said.startswith("l.i1, system.x: it failed after 10.0 s and is shown up to there; 5,554 inserts/s in the ")
    assert "; 1 dip of 1 s (of 10 s) cost " in said


@pytest.mark.long
def test_a_step_that_was_never_begun_says_so() -> None:
    post = l_i1_of(Run(status="failed", failed_step="l.x", steps=("l.i0",)))
    assert told(post) == ["l.i1, system.cy10a: it was not run (the run: failed)."]
    assert post.ask("operation_series").is_empty() and post.ask("server_series").is_empty()
    assert ib.not_captured(ib.step_detail(post.ask)).markup == ""


def test_a_step_loaded_from_a_snapshot_is_not_said_to_have_failed() -> None:
    run = Run(steps=("l.i1", "qr100"), loaded_from="another")
    answers = (asked(name, run, steps=["l.i0"]) for name in ("steadiness", "dips"))
    assert ib.steadiness_statements(*answers) == [
        "l.i0, system.cy10a: it was loaded from a snapshot; this run did not execute it."
    ]


def test_one_full_second_is_too_short_for_dips() -> None:
    frame = asked("steadiness", Run(), steps=["l.i1"]).with_columns(rated_seconds=pl.lit(1))
    (said,) = ib.steadiness_statements(frame, asked("dips", Run(), steps=["l.i1"]))
    assert said.endswith("; 1 full second is too few to look for dips.")


def test_a_step_of_few_seconds_is_not_searched_for_dips() -> None:
    (said,) = told(l_i1_of(Run(l_i1_s=4)))
    assert said.startswith("l.i1, system.cy10a: 12,500 inserts/s in the median second, worst response ")
    assert said.endswith("; 4 full seconds are too few to look for dips.")


def told(post: Selection) -> list[str]:
    said: list[str] = ib.steadiness_statements(post.ask("steadiness"), post.ask("dips"))
    return said
