"""Tables of sysbench, and the answers that they print."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.show.parsed import Parsed
from tests.synthetic import Run, answer
from tests.workloads.sysbench.results.runs import write

pytestmark = pytest.mark.lake


def test_rates_percentiles_and_scale_up(lake: Any) -> None:
    summary = answer(lake, "sysbench_summary").filter(dbms="system.a")
    shown = summary.select("test", "test_group", "threads", "tps", "qps", "scale_up", "efficiency")
    assert shown.rows() == [
        ("oltp_point_select", "points", 1, 100.0, 600.0, None, None),
        ("oltp_point_select", "points", 4, 300.0, 1800.0, 3.0, 0.75),
        ("select_random_points", "points", 1, 50.0, 300.0, None, None),
        ("oltp_write_only", "writes", 1, 20.0, 120.0, None, None),
    ]
    first, *_, last = summary.to_dicts()
    assert first["timing"] == "service" and first["p50_s"] == first["p99_s"] == pytest.approx(500e-6, rel=0.01)
    assert last["p95_s"] is not None and last["p99_s"] is None, "40 responses are too few for p99"


def test_a_rate_makes_times_intended_and_no_histogram_makes_none(workspace: Workspace) -> None:
    write(workspace, Run("a"), {"oltp_point_select.t1": 100}, rate=100)
    write(workspace, Run("b", minute=1), {"oltp_point_select.t1": 100}, bins=False)
    paced, blind = answer(reader.lake(workspace), "sysbench_summary").to_dicts()
    assert paced["timing"] == "intended" and paced["p50_s"] == pytest.approx(500e-6, rel=0.01)
    assert (blind["timing"], blind["p50_s"], blind["tps"]) == (None, None, 100.0)


def test_the_table_has_a_row_for_each_test_and_one_for_several_of_a_group(lake: Any) -> None:
    summary = answer(lake, "sysbench_summary").filter(threads=1)
    rows = {row[0]: row[1:] for row in Parsed(ib.sysbench_table(summary, "system.a")).rows}
    assert rows["oltp_point_select"] == ["100 bottom", "200 top\n2.00x above"]
    assert rows["select_random_points"][1] == "150 top\n3.00x above"
    plain = Parsed(ib.sysbench_table(summary, "system.a", ranks=False))
    assert plain.of("select_random_points")[1] == "150\n3.00x"
    assert rows["all 2 of points"] == ["-", "2.45x\n(2.00 to 3.00)"], "the root of 2 times 3"
    assert not any("of writes" in name for name in rows), "one test is no group"


def test_a_group_with_a_test_that_did_not_end_has_no_mean(lake: Any) -> None:
    summary = answer(lake, "sysbench_summary").filter(threads=1)
    failed = (pl.col("dbms") == "system.b") & (pl.col("test") == "select_random_points")
    summary = summary.with_columns(step_status=pl.when(failed).then(pl.lit("failed")).otherwise("step_status"))
    assert not any("all 2" in row[0] for row in Parsed(ib.sysbench_table(summary, "system.a")).rows)


def test_scale_up_and_times_by_threads(lake: Any) -> None:
    points = answer(lake, "sysbench_summary").filter(test="oltp_point_select")
    rows = {row[0]: row[1:] for row in Parsed(ib.sysbench_scale_up_table(points)).rows}
    assert rows["system.a"] == ["100", "3.00", "75"]
    rows = {row[0]: row[1:] for row in Parsed(ib.sysbench_times_table(points)).rows}
    assert rows["system.a, 4"][0].startswith("0.50") and rows["system.a, 4"][3:] == ["0.00", "0"]
    figure = ib.sysbench_threads_chart(points)
    assert [list(line.x) for line in figure.data] == [[1, 4], [1, 4]] and list(figure.data[0].y) == [100, 300]


def test_statements_are_those_that_the_server_counts_or_the_page_says_where_not(workspace: Workspace) -> None:
    write(workspace, Run("a"), {"oltp_write_only.t1": 20})
    frame = answer(reader.lake(workspace), "sysbench_statements")
    assert frame.select("statement", "sent", "counted", "unexplained").rows() == [
        ("read", 80, 85, 5), ("write", 120, 120, 0), ("other", 40, 40, 0),
    ]  # fmt: skip
    (said,) = ib.sysbench_counted_statements(frame)
    assert said.startswith("In 1 step in which no transaction was sent again, the server counted exactly")
    rows = {row[0]: row[1:] for row in Parsed(ib.sysbench_statements_table(frame)).rows}
    assert rows["write"] == ["120", "120", "0"]
    unread = frame.with_columns(pl.lit(None, pl.Int64).alias("counted"), pl.lit(None, pl.Int64).alias("unexplained"))
    (said,) = ib.sysbench_counted_statements(unread)
    assert "prove nothing: system.a r1 in oltp_write_only.t1." in said


def test_groups_have_the_average_the_median_and_the_ends_with_their_tests(lake: Any) -> None:
    summary = answer(lake, "sysbench_summary").filter(threads=1)
    rows = Parsed(ib.sysbench_groups_table(summary, "system.a")).rows
    start = rows.index(["points, 2 tests: average", "2.45x"])
    assert rows[start : start + 4] == [
        ["points, 2 tests: average", "2.45x"], ["median", "2.50x"], ["lowest", "2.00x\noltp_point_select"],
        ["highest", "3.00x\nselect_random_points"],
    ]  # fmt: skip
