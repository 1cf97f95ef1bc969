"""Sentences about clients that finish apart."""

import random

import polars as pl
import pytest

import ibench_lib as ib
from tests.show.parsed import Parsed
from tests.show.saying import frame_of

pytestmark = pytest.mark.lake

TOOK = pl.lit(900.0)


def test_nothing_is_said_of_a_step_that_nobody_took_a_second_for() -> None:
    frame = frame_of("pct", a=[44.2], b=[6.0]).with_columns(diff_s=pl.lit(0.1), max_duration_s=pl.lit(0.3))
    assert ib.fairness_statements(frame) == []
    published = frame.with_columns(max_duration_s=pl.lit(None, pl.Float64))
    assert ib.fairness_statements(published) == [
        "Largest relative gap between the clients' finish times: 0.1 s (44.2 %), a in cached, l.i1. "
        "No gap is both over 1 s and over 5 % of the fastest client's time (2 results in 1 step)."
    ]


def test_clients_that_finish_far_apart_are_named_and_short_steps_are_not() -> None:
    frame = frame_of("pct", a=[44.2], b=[6.0]).with_columns(diff_s=pl.Series([0.1, 441.0]), max_duration_s=TOOK)
    assert ib.fairness_statements(frame) == [
        "The clients' finish times differ by more than 1 s and by more than 5 % of the fastest client's time: 441.0 s "
        "(6.0 %) with b in cached, l.i1."
    ]
    frame = frame_of("pct", a=[6.0, 9.0, 1.0]).with_columns(diff_s=pl.Series([44.0, 60.0, 9.0]), max_duration_s=TOOK)
    (said,) = ib.fairness_statements(frame)  # a run of 9 % is among those of which this is the median
    assert said.endswith("time: 44.0 s (6.0 %, in the median run of 3) with a in cached, l.i1.")


def test_a_single_run_that_is_further_apart_than_the_median_run_is_named() -> None:
    frame = frame_of("pct", a=[1.0, 9.0, 2.0], b=[1.0, 1.0, 2.0]).with_columns(
        diff_s=pl.Series([1.0, 60.0, 2.0, 1.0, 1.0, 2.0]), max_duration_s=TOOK
    )
    median, alone = ib.fairness_statements(frame)
    assert ". No gap is both over 1 s and over 5 % of the fastest client's" in median
    assert "client's time in the median run (2 results" in median
    assert alone == "Single runs in which they differ by more than that: 60.0 s (9.0 %) with a r2 in cached, l.i1."


@pytest.mark.long
@pytest.mark.slow
def test_the_sentence_is_of_the_run_that_the_table_shows() -> None:
    # The median of the shares is 5.2 %, that of the differences belongs to a run with 4.4 %.
    frame = frame_of("pct", a=[5.2, 4.4, 9.0], b=[1.0]).with_columns(
        diff_s=pl.Series([1.0, 1.1, 1.2, 0.1]), min_duration_s=pl.lit(20.0), max_duration_s=pl.lit(21.0)
    )
    said, _ = ib.fairness_statements(frame)
    assert ": 1.1 s (4.4 %, in the median run of 3), a in cached, l.i1. No gap is both over" in said
    assert Parsed(ib.fairness_table(frame)).of("a")[2:] == ["1.1", "4.4"]
    randomly = random.Random(1)
    for _ in range(100):
        runs = [(round(randomly.uniform(0.5, 2), 1), round(randomly.uniform(2, 9), 1)) for _ in range(3)]
        frame = frame_of("pct", a=[pct for _, pct in runs], b=[0.1]).with_columns(
            diff_s=pl.Series([*(seconds for seconds, _ in runs), 0.01]),
            min_duration_s=pl.lit(20.0),
            max_duration_s=pl.lit(21.0),
        )
        seconds, pct = Parsed(ib.fairness_table(frame)).of("a")[2:]
        said = ib.fairness_statements(frame)[0]
        assert f"{seconds} s ({pct} %" in said
        assert said.startswith("The clients' finish times differ by") == (float(pct) > 5 and float(seconds) > 1)
