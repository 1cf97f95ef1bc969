"""Sentences about stalled seconds."""

import polars as pl

import ibench_lib as ib
from tests.show.saying import frame_of


def test_stalled_seconds_are_told_as_a_share_of_those_in_which_all_were_at_work() -> None:
    frame = frame_of("stalled_seconds", a=[0, 1], b=[12, 8]).with_columns(seconds_at_work=pl.lit(100))
    assert ib.stability_statements(frame) == [
        "cached, l.i1: throughput was below half of its own median for more than 1 % of the seconds: b (in 20 of 200)."
    ]
