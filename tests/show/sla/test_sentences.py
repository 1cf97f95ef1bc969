"""Sentences about service levels."""

import polars as pl
import pytest

import ibench_lib as ib
from tests.show.saying import frame_of

pytestmark = pytest.mark.lake


def test_an_sla_failure_names_its_rates_and_runs() -> None:
    frame = frame_of("ips", "qr", good=[8000, 8000], bad=[8000, 5123]).with_columns(
        rates=pl.concat_list("ips", pl.col("ips") - 3),
        labels=pl.lit(["inserts/s", "deletes/s"]),
        counts=pl.lit(["rows", "rows"]),
        target_per_s=8000.0,
        sla_failed=pl.col("ips") < 7600,
    )
    assert ib.sla_statements(frame) == [
        "cached, qr: less than 0.95 of the target of 8,000 rows/s: bad (5,123 inserts/s, 5,120 deletes/s, in 1 of 2 "
        "runs)."
    ]
    assert ib.sla_statements(frame.filter(pl.col("dbms") == "good")) == [
        "No target rate was missed (1 result in 1 step)."
    ]
