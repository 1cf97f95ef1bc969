"""What is said of dips: how many, what they cost, why, and how sure that is."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from tests.shared import asked
from tests.store.test_dips import CASES
from tests.synthetic import Run

pytestmark = pytest.mark.lake


def dips_of(case: str) -> list[dict[str, Any]]:
    return asked("dips", CASES[case][0], steps=["l.i1"]).to_dicts()


def dips_schema(case: str) -> pl.Schema:
    return asked("dips", CASES[case][0], steps=["l.i1"]).schema


def said(*runs: Run) -> list[str]:
    return ib.dip_statements(*(asked(name, *runs, steps=["l.i1"]) for name in ("steadiness", "dips")))


@pytest.mark.slow
def test_a_run_with_a_dip_has_its_story() -> None:
    assert said(CASES["free_pages"][0], Run("even", minute=1)) == [
        "l.i1, system.slow: 1 dip of 3 s (of 20 s) cost 15.0 % of the step's work at its median rate, "
        "because threads waited for free pages (high confidence).",
        "No dips in the other step, counted per run.",
    ]


@pytest.mark.long
@pytest.mark.slow
def test_the_dips_of_many_runs_are_one_sentence() -> None:
    runs = [Run(f"c{n}", minute=n, l_i1_s=20, stall=(5, 9)[: 1 + n % 2]) for n in range(5)]
    (one, quiet) = said(*runs, Run("even", minute=9))
    assert one.startswith("l.i1: 5 of 6 runs had 7 dips: all unexplained. The largest loss was in system.c1: ")
    assert quiet == "No dips in the other step, counted per run."


@pytest.mark.slow
def test_dips_that_are_not_named_are_counted_once() -> None:
    """Five dips, each a group: the two that are left are dips, not causes."""
    steps, (one, *_) = asked("steadiness", CASES["free_pages"][0], steps=["l.i1"]), dips_of("free_pages")
    groups = [("high", None), ("high", "redo"), ("medium", None), ("medium", "redo"), ("low", None)]
    dips = pl.DataFrame([one | {"confidence": sure, "via": via} for sure, via in groups], dips_schema("free_pages"))
    (said,) = ib.dip_statements(steps, dips)
    assert "1 because threads waited for free pages, by way of redo (high confidence); " in said
    assert said.endswith("; 2 with other causes or another confidence.")
    short = dips[-1:].with_columns(seconds=pl.lit(1, dips.schema["seconds"]))
    (said,) = ib.dip_statements(steps, pl.concat([dips[:-1], short, short]))
    assert "; 2 because threads waited for free pages (low confidence); " in said, "a cause of several is named"
    assert said.endswith("; 1 with other causes or another confidence.")


@pytest.mark.long
@pytest.mark.slow
def test_waves_and_dips_without_a_cause_are_told() -> None:
    found = said(Run("waves", l_i1_s=20, stall=(3, 7, 11, 15)))
    (one,) = found
    assert one.startswith("l.i1, system.waves: 4 dips of 4 s in all (of 20 s) cost")
    assert one.endswith(": all unexplained. They come in waves, one every 4 s, 100 % deep on average.")


@pytest.mark.long
@pytest.mark.slow
def test_without_a_dip_there_is_one_sentence() -> None:
    assert said(Run(), Run("b", minute=1)) == ["No dips in 2 steps, counted per run."]
