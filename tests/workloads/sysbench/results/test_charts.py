"""The heat map of sysbench's tests."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Browser

import ibench_lib as ib
from ibench_lib.paths import Workspace
from ibench_lib.show.kit.chart_text import describe
from tests.publish.browsing import open_page
from tests.show.parsed import Parsed
from tests.synthetic import answer
from tests.workloads.sysbench.results.runs import micro

pytestmark = pytest.mark.lake


def test_the_heat_map_has_a_row_for_each_test_in_groups_and_a_column_for_each_other_dbms(workspace: Workspace) -> None:
    summary = answer(micro(workspace, 1.5, 4), "sysbench_summary")
    figure = ib.sysbench_ratios_chart(summary, "system.a")
    (trace,) = figure.data
    rows = [
        "points:", "point-query", "hot-points", "ranges:", "scan", "range-covered-pk", "writes:", "insert",
        "update-zipf",
    ]  # fmt: skip
    assert list(trace.y) == list(figure.layout.yaxis.categoryarray) == rows
    assert list(trace.x) == list(figure.layout.xaxis.categoryarray) == ["system.b", "system.c"]
    of = {row: place for place, row in enumerate(rows)}
    assert list(trace.customdata[of["point-query"]]) == [1.5, 4.0]
    assert list(trace.text[of["scan"]]) == ["0.80", "2.00"], "8 and 20 of 10"
    assert list(trace.z[of["hot-points"]]) == [0.585, 1.0], "colours are full from twice the rate on"
    assert list(trace.z[of["ranges:"]]) == [None, None]
    assert trace.hovertext[of["point-query"]][1] == "system.c, point-query: 4.00x"
    assert list(figure.layout.xaxis.ticktext) == ["b", "c"], "all have one build"
    assert "<b>points</b>" in figure.layout.yaxis.ticktext
    said = describe(figure.to_plotly_json())
    assert "ratio, hot-points: 2 points, from 1.5 to 4 times system.a." in said and "no value" not in said


def test_a_browser_writes_each_ratio_into_the_row_of_its_test(
    workspace: Workspace, tmp_path: Path, browser: Browser
) -> None:
    """plotly puts texts into wrong rows, or draws nothing, where a trace lacks rows of its axis."""
    figure = ib.sysbench_ratios_chart(answer(micro(workspace, 1.5), "sysbench_summary"), "system.a")
    figure.write_html(tmp_path / "chart.html", include_plotlyjs=True)
    opened = open_page(browser, tmp_path / "chart.html", width=390)
    opened.page.locator(".heatmap-label text").first.wait_for(state="attached")
    places = (
        "texts => texts.map(text => [text.getBoundingClientRect().y, text.textContent]).sort((a, b) => a[0] - b[0])"
    )
    drawn = opened.page.locator(".heatmap-label text").evaluate_all(places)
    labels = opened.page.locator(".ytick text").evaluate_all(places)
    assert [text for _, text in drawn] == ["1.50", "1.50", "0.80", "1.50", "1.50", "1.50"]
    middle = {text: y for y, text in labels}
    scan = next(y for y, text in drawn if text == "0.80")
    assert min(middle, key=lambda text: abs(middle[text] - scan)) == "scan"
    assert not opened.complaints


def test_a_test_that_one_dbms_did_not_end_is_a_white_cell(workspace: Workspace) -> None:
    summary = answer(micro(workspace, 1.5, 2), "sysbench_summary")
    failed = (pl.col("dbms") == "system.b") & (pl.col("test") == "scan")
    summary = summary.with_columns(step_status=pl.when(failed).then(pl.lit("failed")).otherwise("step_status"))
    (trace,) = ib.sysbench_ratios_chart(summary, "system.a").data
    scan = list(trace.y).index("scan")
    assert (trace.z[scan][0], trace.text[scan][0], trace.hovertext[scan][0]) == (None, "", "")
    assert trace.text[scan][1] == "1.00" and trace.hoverongaps is False
    rows = Parsed(ib.sysbench_groups_table(summary, "system.a")).rows
    assert ["ranges, 2 tests: average", "-", "1.41x"] in rows


def test_columns_leave_out_the_build_or_the_configuration_that_every_dbms_has(workspace: Workspace) -> None:
    summary = answer(micro(workspace, 1.5, 2), "sysbench_summary")

    def columns(*names: str) -> list[str]:
        named = dict(zip(("system.a", "system.b", "system.c"), names, strict=True))
        renamed = summary.with_columns(pl.col("dbms").replace(named))
        return list(ib.sysbench_ratios_chart(renamed, names[0]).layout.xaxis.ticktext)

    assert columns("my.8.a", "my.8.b", "my.8.c") == ["b", "c"]
    assert columns("my.8.a", "my.9.a", "ma.a") == ["my.9", "ma"]
    assert columns("my.8.a", "my.8.b", "ma.b") == ["my.8.b", "ma.b"]


def test_many_columns_stand_upright_and_long_names_have_lines(workspace: Workspace) -> None:
    summary = answer(micro(workspace, *[1.0 + place / 10 for place in range(12)]), "sysbench_summary")
    figure = ib.sysbench_ratios_chart(summary, "system.a")
    assert len(figure.data[0].z[1]) == 12 and figure.layout.height < 400
    long = summary.with_columns(dbms=pl.col("dbms") + "-innodb_adaptive_hash_index-ON")
    figure = ib.sysbench_ratios_chart(long, "system.a-innodb_adaptive_hash_index-ON")
    assert figure.layout.xaxis.tickangle == -90 and "<br>" in figure.layout.xaxis.ticktext[0]
    few = long.filter(pl.col("dbms").str.contains(r"\.[ab]-"))
    assert ib.sysbench_ratios_chart(few, "system.a-innodb_adaptive_hash_index-ON").layout.xaxis.tickangle == 0
