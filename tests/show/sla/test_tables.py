"""Tables of service levels."""

import polars as pl
import pytest

import ibench_lib as ib
from tests.shared import asked
from tests.show.parsed import Parsed
from tests.synthetic import Run

pytestmark = pytest.mark.lake


def test_sla_table_has_a_target_row_and_marks_what_missed_it() -> None:
    frame = asked("sla", Run(), Run("slow", minute=1, background_rows=900))
    table = Parsed(ib.sla_table(frame))
    assert table.of("target") == ["200", "200"]
    assert table.of("system.cy10a") == ["200", "200"]
    assert table.of("system.slow") == ["180 missed", "180 missed"]


def test_sla_table_has_each_target_of_experiments_that_share_a_setup() -> None:
    frame = asked("sla", Run(), Run("slow", minute=1, background_rows=900))
    slow = pl.col("dbms") == "system.slow"
    other = frame.with_columns(target_per_s=pl.when(slow).then(1000.0).otherwise(pl.col("target_per_s")))
    assert Parsed(ib.sla_table(other)).of("target") == ["200 or 1,000"] * 2
