"""Sentences about stalled seconds."""

import polars as pl
import pytest

import ibench_lib as ib
from tests.show.saying import frame_of

pytestmark = pytest.mark.lake


def test_stalled_seconds_are_told_as_a_share_of_those_in_which_all_were_at_work() -> None:
    frame = frame_of("stalled_seconds", a=[0, 1], b=[12, 8]).with_columns(seconds_at_work=pl.lit(100))
    assert ib.stability_statements(frame) == [
        "cached, l.i1: throughput was below half of its own median for more than 1 % of the seconds: b (in 2 of 2 "
        "runs: 12 of 100 s in the worst)."
    ]


def test_one_run_that_stalled_is_not_lost_among_others_that_did_not() -> None:
    """1 of 60 s in one run of three: 0.6 % of all seconds, but 1.7 % of that run's."""
    frame = frame_of("stalled_seconds", a=[0, 1, 0], b=[0, 0, 0]).with_columns(seconds_at_work=pl.lit(60))
    assert ib.stability_statements(frame) == [
        "cached, l.i1: throughput was below half of its own median for more than 1 % of the seconds: a (in 1 of 3 "
        "runs: 1 of 60 s)."
    ]
    quiet = frame.with_columns(stalled_seconds=pl.lit(0))
    assert ib.stability_statements(quiet) == [
        "In no step of a run was throughput below half of its median for more than 1 % of the seconds (2 "
        "results in 1 step of 10 s or more)."
    ]
