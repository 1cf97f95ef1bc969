"""Sentences on redo logs that were full."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ibench_lib as ib
from tests.shared import asked
from tests.show.filled import AT_SYNC, BELOW, FLUSHED, FULL, NOT_CAPTURED, level, run_with
from tests.show.parsed import Parsed
from tests.synthetic import Run

pytestmark = pytest.mark.lake


def said_of(*runs: Run) -> list[str]:
    return ib.checkpoint_statements(asked("checkpoint_limit", *runs, steps=["l.i1"]))


def test_it_is_said_whose_log_was_full_and_what_that_cost() -> None:
    assert said_of(run_with(AT_SYNC), run_with(BELOW, "low"), NOT_CAPTURED) == [
        "cached, l.i1: the checkpoint age was at its limit with system.full (33 % of the time, first in second 8, "
        "2,500 inserts/s at the limit, 5,000 otherwise: 0.50x).",
        "cached, l.i1: no other checkpoint age reached its limit (highest: 40 %, system.low).",
        "cached, l.i1: the checkpoint age was not captured with system.none.",
    ]
    assert said_of(run_with(BELOW, "low")) == [
        "cached, l.i1: no checkpoint age reached its limit (highest: 40 %, system.low).",
    ]


def test_flushing_for_a_checkpoint_is_no_full_log_and_the_limit_says_what_it_is_of() -> None:
    assert said_of(run_with(FLUSHED)) == [
        "cached, l.i1: no checkpoint age reached its limit (highest: 90 %, system.full).",
        "cached, l.i1: most of the pages written were flushed for a checkpoint, a part of the time, with system.full "
        "(33 %). That begins below the limit.",
    ]
    sized = {**AT_SYNC, "redo_capacity_bytes": level(200, 200)}
    assert "was at its limit (84 % of the redo log) with system.full" in said_of(run_with(sized))[0]


def test_repeats_have_a_range_and_those_with_a_full_log_are_counted() -> None:
    never = {**AT_SYNC, "checkpoint_age_bytes": level(90, 90)}
    (said,) = said_of(run_with(AT_SYNC), run_with(never, repeat=2))
    assert "system.full (in 1 of 2 runs, 17 % of the time in the median run, first in second 8," in said
    # With a stall of four seconds nothing is done in them.
    (said,) = said_of(run_with(AT_SYNC), run_with(AT_SYNC, repeat=2, stall=FULL))
    assert (
        "in 2 of 2 runs, 33 % of the time in the median run" in said
        and "1,250 inserts/s at the limit, 5,625 otherwise: 0.25x (0.00 to 0.50)" in said
    )


def test_a_sentence_and_the_table_have_the_same_median() -> None:
    """Three runs of each: the means, and the largest, of their shares are others than the medians."""
    shares = [{**BELOW, "checkpoint_age_bytes": level(age, 20)} for age in (40, 50, 90)]
    stopped = [{**AT_SYNC, "checkpoint_age_bytes": level(168, age)} for age in (90, 90, 168)]
    runs = [run_with(columns, repeat=repeat) for repeat, columns in enumerate(stopped, 1)]
    runs += [
        replace(run_with(columns, "low", repeat=repeat), minute=10 + repeat) for repeat, columns in enumerate(shares, 1)
    ]
    table = Parsed(ib.checkpoint_table(asked("checkpoint_limit", *runs, steps=["l.i1"])))
    full, highest = said_of(*runs)
    assert table.of("system.full")[3] == "33" and "in 3 of 3 runs, 33 % of the time in the median run, first in" in full
    assert table.of("system.low")[1] == "50" and highest.endswith("(highest: 50 % in the median run, system.low).")
