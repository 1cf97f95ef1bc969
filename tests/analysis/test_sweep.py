"""Throughput over clients and options: the answer, and when a post has it."""

import polars as pl
import pytest

from ibench_lib.ask.selection import choose
from ibench_lib.show.sections import sweeps
from tests.places import GOLDEN
from tests.shared import asked, lake_of
from tests.show.swept import of_step, swept, varied
from tests.synthetic import Run

pytestmark = pytest.mark.lake


def test_runs_that_differ_in_clients_only_are_of_one_line() -> None:
    frame = of_step(asked("sweep", *swept(), *swept("other")))
    stored = pl.read_csv(GOLDEN / "sweep.csv", schema_overrides={"place": pl.String})
    shown = frame.select(stored.columns).with_columns(pl.col("throughput").round(3))
    assert shown.cast({"dbms_position": pl.Int64, "repeat": pl.Int64}).to_dicts() == stored.to_dicts()


def test_values_of_an_option_are_places_as_written_and_as_numbers() -> None:
    frame = of_step(asked("sweep", *varied(_1k=10, _2k=20, _ON=5, _500=5)))
    assert frame.select("axis", "dbms", "setup", "place", "x").rows() == [
        ("innodb_io_capacity", "system.base", "cached", place, x)
        for place, x in (("500", 500.0), ("1k", 1024.0), ("2k", 2048.0))
    ]


def test_each_of_two_options_is_an_axis_and_the_other_stays_in_the_name() -> None:
    runs = [
        Run(
            f"base-a-{a}-b-{b}", minute=10 * a + b, fragments=(("vary", f"[mysqld]\na={a}\nb={b}\n"),),
        )
        for a in (1, 2) for b in (1, 2)
    ]  # fmt: skip
    frame = of_step(asked("sweep", *runs))
    assert set(frame.select("axis", "dbms").unique().rows()) == {
        ("a", "system.base-b-1"), ("a", "system.base-b-2"), ("b", "system.base-a-1"), ("b", "system.base-a-2")
    }  # fmt: skip
    assert len(frame) == 8


def test_without_two_places_there_is_no_axis() -> None:
    assert asked("sweep", Run()).is_empty()
    assert asked("sweep", *(run for run in swept() if run.clients == 4)).is_empty()
    assert asked("sweep", Run(setup="my-clients-002"), Run(setup="my-clients-004", minute=1)).is_empty(), (
        "a name alone is no axis: both had two clients"
    )


def test_a_post_has_the_section_only_where_something_varies() -> None:
    lake = lake_of(*swept())
    post = choose(lake, "demo")
    assert len(sweeps(post).parts) == 2
    assert "sweep" in [asked.question for asked in post.asked]
    plain = choose(lake_of(Run(), Run("with-dash", minute=1)), "demo")
    assert sweeps(plain).parts == ()
    assert "sweep" not in [asked.question for asked in plain.asked]
