"""One ratio has one interval: pages, commands and JSON show the same digits for the same runs of the sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ibench_lib.analysis.against import against_base
from ibench_lib.analysis.comparison import compared
from ibench_lib.analysis.costs import cost_ratios
from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.ask.pair import pair
from ibench_lib.ask.selection import Selection, choose
from ibench_lib.paths import Workspace
from ibench_lib.show.headline import headline
from ibench_lib.show.kit.display import Html, Shown
from ibench_lib.show.kit.table_cells import rate_cells, relative_text
from ibench_lib.store import reader
from ibench_lib.workloads.sysbench.results.tables import ratios_of_tests, sysbench_table
from tests.command import ibench
from tests.places import ROOT
from tests.shared import give_views, made_once

pytestmark = pytest.mark.lake

SAMPLE = str(ROOT / "data" / "sample")
Figures = tuple[float | None, float | None, float | None]
Place = tuple[str, str, str, str]
"""Setup, step, dbms and what is counted."""


def prepared(folder: Path) -> Path:
    """A project in which the sample is indexed: without, each command would read every file of it."""
    return give_views(Workspace(folder)).root


def answered(*arguments: str) -> Any:
    home = Workspace(made_once("home-of-commands-on-the-sample", prepared))
    ended = ibench(home, *arguments, "--json", IBENCH_LAKE=SAMPLE)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def digits(*figures: float | None) -> Figures:
    ratio, low, high = (None if figure is None else float(f"{figure:.9g}") for figure in figures)
    return ratio, low, high


def of_rows(rows: list[dict[str, Any]]) -> dict[Place, Figures]:
    return {
        (row["setup"], row["step"], row["dbms"], row["rate"]): digits(row["ratio"], row["low"], row["high"])
        for row in rows
        if row["bounds"]
    }


def of_ratio(found: Ratio) -> Figures:
    return digits(found.value, found.low, found.high)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("experiment", "step"),
    [("innodb_purge_lag_sample", "l.i1"), ("regression", "l.i0"), ("linkbench_small", "t16"), ("tpcc_waves", "run")],
)
def test_post_and_commands_show_the_same_digits(experiment: str, step: str) -> None:
    post = choose(reader.lake(SAMPLE), experiment)
    base = post.bases.first
    summed = of_rows(answered("summary", experiment))
    assert summed and {place for place in summed if place[1] == step}

    rates = post.ask("step_throughput")
    for setup in rates["setup"].unique():
        of_setup = rates.filter(pl.col("setup") == setup)
        _, in_table = rate_cells(of_setup, "throughput", ",.0f", post.bases)
        rate_of = dict(of_setup.select("step", "rate_label").drop_nulls().iter_rows())
        in_table = {(setup, of, name, rate_of[of]): found for (of, name), found in in_table.items()}
        assert {place: of_ratio(in_table[place]) for place in summed if place[0] == setup} == {
            place: of for place, of in summed.items() if place[0] == setup
        }

    # Which steps a screen shows changes nothing.
    screens = [_markup(headline(post)), _markup(headline(post, steps=[step]))]
    for place, found in against_base(rates, post.bases, ["throughput"]).items():
        if place[1] == step:
            assert all(relative_text(found) in screen for screen in screens), place

    other = next(place[2] for place in sorted(summed) if place[1] == step and place[2] != base)
    of_two = of_rows(answered("compare", base, other, "--experiment", experiment))
    assert {place: of for place, of in of_two.items() if "p99" not in place[3]} == {
        place: of for place, of in summed.items() if place[2] == other
    }
    setup = next(place[0] for place in sorted(summed) if place[1] == step and place[2] == other)
    _in_the_metrics_of_a_pair(post, base, other, setup, step, of_two)
    rate = answered("explain", base, other, "--experiment", experiment, "--step", step, "--setup", setup)["rate"][0]
    (of_step,) = {of for place, of in of_two.items() if place[:2] == (setup, step) and "p99" not in place[3]}
    assert digits(rate["b"] / rate["a"], *rate["interval"]) == of_step


def test_the_tables_of_sysbench_have_the_intervals_of_the_first_screen() -> None:
    """They show the tests only, and of these one number of threads at a time; the noise is that of all steps."""
    post = choose(reader.lake(SAMPLE), "sysbench_versions")
    summary, rates = post.ask("sysbench_summary"), post.ask("step_throughput")
    every = {place: of_ratio(one) for place, one in against_base(rates, post.bases, ["throughput"]).items()}
    compared_tests = 0
    for (setup, _), frame in summary.group_by("setup", "threads"):
        found = ratios_of_tests(frame, post.bases, rates)
        assert {(str(setup), step, "throughput", name): of_ratio(one) for (step, name), one in found.items()} == {
            place: of for place, of in every.items() if place[0] == setup and place[1] in frame["step"].to_list()
        }
        table = sysbench_table(frame, post.bases, rates=rates)
        texts = {cell.text.partition("\n")[2] for _, row in table.rows for cell in row}
        assert {relative_text(one) for one in found.values()} <= texts
        compared_tests += len(found)
    assert compared_tests > 50


def _markup(shown: Shown) -> str:
    return "".join(item.markup for item in shown.items if isinstance(item, Html))


def _in_the_metrics_of_a_pair(
    post: Selection, base: str, other: str, setup: str, step: str, of_two: dict[Place, Figures]
) -> None:
    """Tails as in `compare`, costs as next to the throughput of a post."""
    values = pair(post, base, other).values()
    found = {
        one.label: one.ratio
        for one in compared(values.filter((pl.col("setup") == setup) & (pl.col("step") == step)), base, other)
        if one.ratio
    }
    tails = {place[3]: of for place, of in of_two.items() if place[:2] == (setup, step) and "p99" in place[3]}
    assert tails
    for label, figures in tails.items():
        name = label.removesuffix(" (ms)")
        (same,) = (ratio for told, ratio in found.items() if told.removesuffix(", at least").replace("_", " ") == name)
        assert of_ratio(same) == figures
    metrics = post.ask("step_metrics")
    costs = cost_ratios(metrics, post.bases)
    cost = costs[setup, step, "cpupq", other]
    assert of_ratio(found["CPU/op"]) == of_ratio(cost)


@pytest.mark.slow
def test_the_table_of_linkbench_shows_the_digits_of_the_first_screen() -> None:
    """Also the change that the repeats could have shown: a warm-up and a control tell it nothing."""
    post = choose(reader.lake(SAMPLE), "linkbench_small")
    screen = against_base(post.ask("step_throughput"), post.bases, ["throughput"])
    summary = post.ask("linkbench_summary")
    seen = 0
    for setup in summary["setup"].unique():
        _, in_table = rate_cells(summary.filter(pl.col("setup") == setup), "ops_per_s", ",.0f", post.bases)
        for step in ("t1", "t4", "t16"):
            (found,) = (one for (of, _), one in in_table.items() if of == step)
            (same,) = (one for place, one in screen.items() if place[:2] == (setup, step))
            assert of_ratio(found) == of_ratio(same)
            assert (found.detectable, found.verdict) == (pytest.approx(same.detectable), same.verdict)
            seen += 1
    assert seen == 6
