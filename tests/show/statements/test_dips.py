"""What is said of dips: how many, what they cost, why, and how sure that is."""

from __future__ import annotations

import pytest

import ibench_lib as ib
from tests.lake.test_dips import CASES
from tests.shared import asked
from tests.synthetic import Run


def said(*runs: Run) -> list[str]:
    return ib.dip_statements(*(asked(name, *runs, steps=["l.i1"]) for name in ("steadiness", "dips")))


@pytest.mark.slow
def test_a_run_with_a_dip_has_its_story() -> None:
    assert said(CASES["free_pages"][0], Run("even", minute=1)) == [
        "l.i1, system.slow: 1 dip took 3 of 20 s and cost 15.0 % of what the median rate would have done, because "
        "threads waited for free pages (high confidence).",
        "No dip was found in 1 other step (counted in each run).",
    ]


@pytest.mark.long
@pytest.mark.slow
def test_the_dips_of_many_runs_are_one_sentence() -> None:
    runs = [Run(f"c{n}", minute=n, l_i1_s=20, stall=(5, 9)[: 1 + n % 2]) for n in range(5)]
    (one, quiet) = said(*runs, Run("even", minute=9))
    assert one.startswith("l.i1: 5 of 6 runs had 7 dips, all unexplained. They cost most in system.c1: ")
    assert quiet == "No dip was found in 1 other step (counted in each run)."


@pytest.mark.long
@pytest.mark.slow
def test_waves_and_dips_without_a_cause_are_told() -> None:
    found = said(Run("waves", l_i1_s=20, stall=(3, 7, 11, 15)))
    (one,) = found
    assert one.startswith("l.i1, system.waves: 4 dips took 4 of 20 s")
    assert one.endswith(", all unexplained. They come in waves, one every 4 s, 100 % deep on average.")


@pytest.mark.long
@pytest.mark.slow
def test_without_a_dip_there_is_one_sentence() -> None:
    assert said(Run(), Run("b", minute=1)) == ["No dip was found in 2 steps (counted in each run)."]
