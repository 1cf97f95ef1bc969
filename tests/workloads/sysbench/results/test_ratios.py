"""The section that compares all tests at a glance."""

from __future__ import annotations

from typing import Any

import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import Selection, choose
from ibench_lib.paths import Workspace
from ibench_lib.show.kit.chart_text import describe
from ibench_lib.show.kit.display import Html, Shown
from ibench_lib.show.kit.drawing import Drawing
from ibench_lib.show.kit.grid import Grid
from tests.synthetic import answer
from tests.workloads.sysbench.results.runs import micro

pytestmark = pytest.mark.lake


def ratios_of(post: Selection) -> Shown:
    return ib.sysbench_ratios(post)


def test_a_heat_map_of_one_dbms_says_that_there_is_no_other(workspace: Workspace) -> None:
    lake = micro(workspace)
    figure = ib.sysbench_ratios_chart(answer(lake, "sysbench_summary"), "system.a")
    assert not figure.data
    assert describe(figure.to_plotly_json()) == "Empty chart: there is no second dbms to compare."
    (said,) = ratios_of(choose(lake, "demo")).items
    assert isinstance(said, Html) and "no two dbms with two tests" in said.markup


def test_ratios_are_shown_for_each_number_of_threads_with_two_tests_of_two_dbms(lake: Any) -> None:
    """With 4 threads there is one test."""
    chart, table = ratios_of(choose(lake, "demo")).items
    assert isinstance(chart, Drawing)
    assert chart.layout["title"]["text"] == "Transactions/s relative to system.a, 1 thread, cached"
    assert isinstance(table, Grid)
