"""The section on what more threads bring."""

from __future__ import annotations

from typing import Any

import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.paths import Workspace
from ibench_lib.show.kit.display import Html
from ibench_lib.show.kit.drawing import Drawing
from ibench_lib.show.kit.grid import Grid
from tests.workloads.sysbench.results.runs import micro

pytestmark = pytest.mark.lake


def test_only_tests_with_several_numbers_of_threads_have_a_chart_and_a_table(lake: Any) -> None:
    chart, table = ib.sysbench_threads(choose(lake, "demo")).items
    assert isinstance(chart, Drawing) and "oltp_point_select" in chart.layout["title"]["text"]
    assert isinstance(table, Grid) and "oltp_point_select" in table.title


def test_where_each_test_has_one_number_of_threads_there_is_a_sentence(workspace: Workspace) -> None:
    (said,) = ib.sysbench_threads(choose(micro(workspace, 2.0), "demo")).items
    assert isinstance(said, Html) and "No test was run with several numbers of threads." in said.markup
