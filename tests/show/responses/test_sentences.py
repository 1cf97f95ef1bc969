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
