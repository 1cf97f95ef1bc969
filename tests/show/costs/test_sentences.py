"""Sentences about the cost of an operation."""

import polars as pl
import pytest

import ibench_lib as ib
from tests.show.saying import frame_of

pytestmark = pytest.mark.lake


def test_costs_are_told_largest_difference_first_and_rounding_is_none() -> None:
    frame = frame_of("cpupq", base=[100.0], other=[180.0]).with_columns(
        cspq=pl.Series([1.0, 0.1]),
        rpq=pl.Series([0.001, 0.004]),
        **dict.fromkeys(("rkbpq", "wpi", "wkbpi"), pl.lit(1.0)),
    )
    assert ib.cost_statements(frame, "base")[1:] == [
        "cached, l.i1, compared with base: other: context switches/op (cspq) 0.10x, one run; other: "
        "CPU/op (cpupq) 1.80x, one run."
    ]
