"""Sentences on the peak of throughput over an axis."""

import polars as pl
import pytest

import ibench_lib as ib
from tests.shared import asked
from tests.show.swept import of_step, swept

pytestmark = pytest.mark.lake


def test_a_sentence_names_the_peak_and_what_cannot_be_told_from_it() -> None:
    frame = of_step(asked("sweep", *swept(), *swept("other", _4=5)))
    (said,) = ib.sweep_statements(frame)
    assert said == (
        "small, l.i1, inserts/s over clients: system.base is fastest with 2 clients (5,000 [4,991, 5,009], 2.00x the "
        "rate with 1 client, 1.10x that with 4 clients); system.other is fastest with 4 clients (10,000 [9,983, "
        "10,017], 4.00x the rate with 1 client, the most that were measured)."
    )
    noisy = frame.with_columns(
        throughput=pl.col("throughput") * pl.when(pl.col("repeat") == 1).then(1.05).otherwise(0.95)
    )
    assert "system.base is fastest with 2 clients" in ib.sweep_statements(noisy)[0]
    assert "not clearly faster than with 4 clients" in ib.sweep_statements(noisy)[0]
    wobble = (2 * pl.col("repeat") - 3) * pl.col("place").replace_strict({"1": 10, "2": -10, "4": 5})
    (said,) = ib.sweep_statements(frame.with_columns(throughput=pl.lit(500.0) + wobble))
    assert said.startswith("small, l.i1, inserts/s over clients: system.base has no clear peak (500 to 500); ")


def test_places_at_which_nobody_took_a_second_are_in_no_sentence() -> None:
    frame = of_step(asked("sweep", *swept()))
    at_one = pl.col("place") == "1"
    short = frame.with_columns(duration_s=pl.when(at_one).then(0.5).otherwise("duration_s"))
    said = ib.sweep_statements(short)[-1]
    assert "with 2 clients" in said and "with 1 client" not in said
    assert ib.sweep_statements(short.filter(at_one | (pl.col("place") == "4"))) == []


def test_single_runs_have_a_peak_without_an_interval() -> None:
    frame = of_step(asked("sweep", *(run for run in swept() if run.repeat == 1)))
    unknown, said = ib.sweep_statements(frame)
    assert unknown == "Peaks without an interval come from too few runs to estimate the noise."
    assert "system.base had its highest rate with 2 clients (5,000, 2.00x the rate with 1 client" in said
