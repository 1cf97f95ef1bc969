"""Tables of two dbms next to each other."""

from __future__ import annotations

import polars as pl
import pytest

import ibench_lib as ib
from tests.ask.pairs import pair_of, repeated
from tests.show.parsed import Parsed

pytestmark = pytest.mark.lake


@pytest.mark.slow
def test_the_table_of_a_step_has_medians_ratios_intervals_and_verdicts() -> None:
    runs = repeated("a", "b", l_i1_s=20, history_list=(10, 20, 0, 5))
    frame = pair_of(*runs).metrics().filter(step="l.i1")
    table = Parsed(ib.metrics_side_by_side(frame, "system.a", "system.b"))
    assert table.of("inserts/s") == ["5,000", "2,500", "0.50", "0.50 to 0.50", "worse", ""]
    assert table.of("history list length") == ["30,000", "0", "0.00", "0.00 to 0.00", "better", ""]
    assert table.of("max response (s)") == ["0.00200", "0.00200", "1.00", "1.00 to 1.00", "same", "6 %"]
    assert table.of("fairness diff (s)") == ["0.0", "0.0", "both 0", "", "same", "6 %"]
    notes = " ".join(row[0] for row in table.rows)
    assert "A, B: medians of 3 and 3 runs." in notes and "(Benjamini and Hochberg)" in notes
    assert "Not known of either side: CPU/op, server CPU/op, instructions/op, cycles/instruction, reads/s" in notes
    swapped = Parsed(ib.metrics_side_by_side(frame, "system.b", "system.a"))
    assert swapped.of("history list length") == ["0", "30,000", "A is 0", "", "worse", ""]


@pytest.mark.long
def test_a_value_has_the_digits_that_its_ratio_needs_and_tells_of_runs_without_one() -> None:
    frame = pair_of(*repeated("a", "b")).metrics().filter(step="l.i1")
    of_b, get_min, first = pl.col("dbms") == "system.b", pl.col("metric") == "get_min_s", pl.col("repeat") == 1
    value = pl.when(get_min & ~of_b).then(0.00042).when(get_min & first).then(None).when(get_min).then(0.00123)
    # What is changed here has only its own noise.
    own = frame.drop("log_ratio", "log_se", "log_df")
    changed = own.with_columns(value=value.otherwise(pl.col("value")))
    table = Parsed(ib.metrics_side_by_side(changed, "system.a", "system.b"))
    assert table.of("get_min (s)") == [
        "0.000420", "0.00123 (1 of 3 not captured)", "2.93", "2.93 to 2.93", "too few runs", "",
    ]  # fmt: skip
