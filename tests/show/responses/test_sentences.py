"""Sentences about response times."""

import polars as pl
import pytest

import ibench_lib as ib
from tests.show.saying import frame_of

pytestmark = pytest.mark.lake


def test_a_worst_response_far_from_the_others_is_an_outlier() -> None:
    frame = frame_of("max_s", a=[0.447], b=[18.493], c=[2.0]).with_columns(
        timing=pl.lit("service"), operation=pl.lit("insert"), rated=pl.lit(True)
    )
    assert ib.response_statements(frame) == [
        "cached, l.i1: the worst response of insert is more than 10x the best of 3 results (447.0 ms with a): b "
        "(18.493 s).",
        "The longest response in a complete step: 18.493 s, insert in cached, l.i1 with b.",
    ]
    index = frame.with_columns(operation=pl.lit("create_index"), rated=pl.lit(False), max_s=2 * pl.col("max_s"))
    *_, longest = ib.response_statements(pl.concat([frame, index]))
    assert longest.startswith("The longest response in a complete step, create_index aside: 18.493 s, insert in")
    short = pl.concat([frame, index.with_columns(max_s=0.1)])
    assert ib.response_statements(short) == ib.response_statements(frame), "no longer one is left aside"
