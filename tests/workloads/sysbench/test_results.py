"""The reading half, on runs whose rates can be worked out in the head."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl
import pytest
from great_tables import GT
from playwright.sync_api import Browser

import ibench_lib as ib
from ibench_lib.ask.selection import Selection, choose
from ibench_lib.paths import Workspace
from ibench_lib.show.headline import clients_said
from ibench_lib.show.kit.chart_text import describe
from ibench_lib.show.kit.display import Html, Shown
from ibench_lib.show.kit.statements import Statement
from ibench_lib.store import reader
from ibench_lib.store.manifest import KindRecord, OperationRecord
from ibench_lib.store.writer import RunWriter
from ibench_lib.workloads.sysbench.options import ChosenTest
from ibench_lib.workloads.sysbench.steps import KINDS, OPERATIONS
from tests.publish.browsing import open_page
from tests.show.parsed import Parsed
from tests.synthetic import BIN_500_US, Run, answer, manifest_of, write_checks

RATES = {
    "oltp_point_select.t1": 100,
    "oltp_point_select.t4": 300,
    "select_random_points.t1": 50,
    "oltp_write_only.t1": 20,
}
PROGRAM = {"version": "sysbench 1.0.20", "sha256": "a" * 64, "name": "sysbench"}
COUNTERS = {"read": "com_select", "write": "com_update", "other": "com_commit"}


def write(
    workspace: Workspace, run: Run, rates: dict[str, int], *, wrong: int = 0, retries: int = 0, bins: bool = True,
    moved: int = 0, program: dict[str, str] = PROGRAM, rate: int | None = None,
) -> None:  # fmt: skip
    """A run with steps of 2 s: in each second so many transactions, each with 2 reads, 3 writes and 1 other statement.

    The server has counted `wrong` writes too many in each step, and `moved` writes that sysbench has among the others.
    """
    writer = RunWriter(workspace.run_dir(run.run_id))
    write_checks(writer, 0, next(iter(rates)), ["rows"])
    timing = "intended" if rate else "service"
    for step_id, (step, per_s) in enumerate(rates.items()):
        key, times = {"step_id": step_id, "step": step}, {"start_s": 1.0 + 2 * step_id, "end_s": 3.0 + 2 * step_id}
        for second in (0, 1):
            for operation, each in (("transaction", 1), ("read", 2), ("write", 3), ("other", 1)):
                recorded = bins and operation == "transaction"
                held: dict[str, Any] = dict.fromkeys(
                    ("service_bins", "service_counts", "intended_bins", "intended_counts")
                )
                if recorded:
                    held |= {f"{timing}_bins": [BIN_500_US], f"{timing}_counts": [per_s]}
                writer.append(
                    "ops", **key, client=1, worker=0, operation=operation, second=second, ops=each * per_s, rows=None,
                    errors=0, retries=retries if operation == "transaction" else 0, unknown=None, service_sum_us=None,
                    service_max_us=None, intended_max_us=None, **held,
                )  # fmt: skip
        writer.append(
            "workers", **key, client=1, worker=0, role="sysbench", **times, status="complete", ops=7 * 2 * per_s,
            rows=None, errors=0, retries=0, unknown=None, ops_from="counts",
        )  # fmt: skip
        for (operation, counter), each in zip(COUNTERS.items(), (2, 3, 1), strict=True):
            more = {"read": 5, "write": wrong + moved, "other": -moved}[operation]
            counted = 2 * per_s * each + more
            writer.append(
                "step_counters", **key, source="server", name="", counter=counter, start_s=times["start_s"] - 0.01,
                start_value=1000.0, end_s=times["end_s"] + 0.01, end_value=1000.0 + counted,
            )  # fmt: skip
        writer.append(
            "steps", **key, kind="test", status="complete", clients=1, insert_rows_per_commit=None,
            target_rows_per_s=None, existing_rows=None, **times, duration_s=2.0, history_list_length=None,
            client_bound=None,
        )  # fmt: skip
    resolved = []
    for step in rates:
        name, _, threads = step.rpartition(".t")
        test = ChosenTest(test=name, rate=rate)
        resolved.append(
            {
                "name": step, "kind": "test", "threads": int(threads), "tables": 2, "table_size": 500,
                "test": test.model_dump() | {"name": test.label, "group": test.known.group},
            }
        )  # fmt: skip
    workload = {
        "clients": 1, "rand_type": "uniform", "db_ps_mode": "auto", "threads": [1, 4],
        "tests": [{"test": name, "name": ""} for name in dict.fromkeys(step.rpartition(".t")[0] for step in rates)],
        "setup": {"warm_up": 0.0}, "program": program, "resolved_steps": resolved,
    }  # fmt: skip
    described: dict[str, Any] = {
        "benchmark": "sysbench",
        "operations": [
            OperationRecord(name=one.name, family=one.family, counts=one.counts, label=one.label) for one in OPERATIONS
        ],
        "kinds": [KindRecord(name=kind.name, main=kind.main, compared=kind.compared) for kind in KINDS],
        "workload": workload,
    }
    writer.seal(manifest_of(run).model_copy(update=described))


@pytest.fixture
def lake(workspace: Workspace) -> Any:
    write(workspace, Run("a"), RATES)
    write(workspace, Run("b", minute=1), {step: rate * (3 if "random" in step else 2) for step, rate in RATES.items()})
    return reader.lake(workspace)


def test_each_number_of_connections_is_said(lake: Any) -> None:
    post = choose(lake, "demo")
    rates = post.ask("step_throughput").with_columns(connections=pl.col("step").str.extract(r"t(\d+)$").cast(pl.Int64))
    assert clients_said(post.runs, rates) == ["1 client with 1 and 4 connections"]


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
    assert rows["oltp_point_select"][0] == "100" and rows["oltp_point_select"][1].split() == ["200", "2.00x"]
    assert rows["select_random_points"][1].split() == ["150", "3.00x"]
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


def test_what_the_server_counted_beyond_is_an_attention_unless_something_was_sent_again(workspace: Workspace) -> None:
    write(workspace, Run("a"), {"oltp_write_only.t1": 20}, wrong=3)
    (said,) = ib.sysbench_counted_statements(answer(reader.lake(workspace), "sysbench_statements"))
    assert (
        isinstance(said, Statement) and said.loud and "the server counted 123 of kind write, but sysbench 120." in said
    )
    write(workspace, Run("b", minute=1), {"oltp_write_only.t1": 20}, wrong=3, retries=1)
    frame = answer(reader.lake(workspace), "sysbench_statements").filter(dbms="system.b")
    assert frame["retries"].to_list() == [2, 2, 2] and ib.sysbench_counted_statements(frame) == []


def test_what_a_script_of_ones_own_sends_is_not_held_against_the_server(workspace: Workspace) -> None:
    write(workspace, Run("a"), {"oltp_write_only.t1": 20}, wrong=3)
    frame = answer(reader.lake(workspace), "sysbench_statements")
    assert ib.sysbench_counted_statements(frame) != []
    assert ib.sysbench_counted_statements(frame.with_columns(pl.lit("your own").alias("test_group"))) == []


@pytest.mark.parametrize(("moved", "is_loud"), [(3, False), (-3, True)])
def test_a_write_that_changes_no_row_is_another_statement_to_sysbench(
    workspace: Workspace, moved: int, is_loud: bool
) -> None:
    write(workspace, Run("a"), {"oltp_delete.t1": 20}, moved=moved)
    said = ib.sysbench_counted_statements(answer(reader.lake(workspace), "sysbench_statements"))
    if is_loud:
        assert len(said) == 2 and all(isinstance(one, Statement) and one.loud for one in said)
    else:
        assert said[0].endswith("that sysbench did. It counts a write that changes no row among the other statements.")
        assert len(said) == 1


def test_what_was_run_and_by_which_sysbench(workspace: Workspace) -> None:
    write(workspace, Run("a"), RATES)
    lake = reader.lake(workspace)
    said = ib.sysbench_statements(answer(lake, "sysbench_workload"), answer(lake, "checks"))
    assert said[0] == (
        "cached: 2 tables of 500 rows, rand_type uniform, db_ps_mode auto; 3 tests with 1 and 4 threads, without a "
        "warm-up; sysbench 1.0.20."
    )
    assert any("passed the checks: the tables have as many rows as were prepared" in text for text in said)
    write(workspace, Run("b", minute=1), RATES, program=PROGRAM | {"version": "sysbench 1.1.0", "sha256": "b" * 64})
    lake = reader.lake(workspace)
    said = ib.sysbench_statements(answer(lake, "sysbench_workload"), answer(lake, "checks"))
    (warned,) = (text for text in said if "by one sysbench" in text)
    assert isinstance(warned, Statement) and warned.loud and "by 2: sysbench 1.0.20 and sysbench 1.1.0." in warned


MICRO = {
    "insert.t1": 40, "point-query.t1": 100, "hot-points.t1": 80, "scan.t1": 10, "range-covered-pk.t1": 20,
    "update-zipf.t1": 50,
}  # fmt: skip


def micro(workspace: Workspace, *factors: float) -> Any:
    """A lake with the dbms system.a and, for each factor, one with so many times its rates; of scan half of that."""
    write(workspace, Run("a"), MICRO)
    for place, factor in enumerate(factors):
        rates = {step: round(rate * factor * (0.5 if "scan" in step else 1)) for step, rate in MICRO.items()}
        write(workspace, Run("bcdefghijklmn"[place], minute=place + 1), rates)
    return reader.lake(workspace)


def ratios_of(post: Selection) -> Shown:
    return ib.sysbench_ratios(post.ask("sysbench_summary"), post.bases)


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
    assert "ratio, hot-points: 2 points, from 1.5 to 4 times the base." in said and "no value" not in said


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
    assert (
        isinstance(chart, go.Figure)
        and chart.layout.title.text == "Transactions/s relative to system.a, 1 thread, cached"
    )
    assert isinstance(table, GT)


def test_groups_have_the_average_the_median_and_the_ends_with_their_tests(lake: Any) -> None:
    summary = answer(lake, "sysbench_summary").filter(threads=1)
    rows = Parsed(ib.sysbench_groups_table(summary, "system.a")).rows
    start = rows.index(["points, 2 tests: average", "2.45x"])
    assert rows[start : start + 4] == [
        ["points, 2 tests: average", "2.45x"], ["median", "2.50x"], ["lowest", "2.00x\noltp_point_select"],
        ["highest", "3.00x\nselect_random_points"],
    ]  # fmt: skip


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
