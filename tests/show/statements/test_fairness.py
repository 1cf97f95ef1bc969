"""Sentences about clients that finish apart."""

import polars as pl

import ibench_lib as ib
from tests.show.statements.saying import frame_of


def test_clients_that_finish_far_apart_are_named_and_short_steps_are_not() -> None:
    frame = frame_of("pct", a=[44.2], b=[6.0]).with_columns(diff_s=pl.Series([0.1, 441.0]))
    assert ib.fairness_statements(frame) == [
        "Clients finished over 5 % of the fastest client's time and over 1 s apart: 441.0 s (6.0 %) with b in cached, "
        "l.i1."
    ]
    frame = frame_of("pct", a=[6.0, 9.0, 1.0]).with_columns(diff_s=pl.Series([44.0, 60.0, 9.0]))
    (said,) = ib.fairness_statements(frame)
    assert said.endswith("apart: 44.0 s (6.0 %; medians of 3 runs) with a in cached, l.i1.")
