"""A step under the microscope: stalls and what moved in them by hand, percentiles against numpy, the page."""

from __future__ import annotations

import ast
import html
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import plotly.graph_objects as go
import polars as pl
import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Page
from ruamel.yaml import YAML

import ibench_lib as ib
from ibench_lib.ask.selection import Selection, choose
from ibench_lib.base.histogram_bins import lower_edge_us
from ibench_lib.client.histogram import bin_latencies
from ibench_lib.lake import reader
from ibench_lib.lake.manifest import with_checksum
from ibench_lib.lake.writer import RunWriter
from ibench_lib.paths import Workspace
from ibench_lib.publish.post import build_post
from ibench_lib.schema import TABLES
from ibench_lib.server_figures import FIGURES
from ibench_lib.show import step_panels
from ibench_lib.show.series_names import SeriesText, shown
from ibench_lib.show.step_detail import StepDetail
from ibench_lib.show.step_panels import RESPONSES
from tests.places import ROOT
from tests.publish.browsing import open_post, table_rows
from tests.synthetic import Run, begin_run, die, manifest_of, write_runs

START_S = 15  # of l.i1 on the run's clock
STALLED = Run("slow", minute=1, l_i1_s=12, stall=(4, 5))
# 100 pages a second, but 250, 400 and 250 in the intervals that end at 4.5, 5.5 and 6.5 s.
WRITTEN = (0, 100, 200, 300, 550, 950, 1200, 1300, 1400, 1500, 1600, 1700)
READ = (7, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8)  # a single page, in the stall


def l_i1(workspace: Workspace, **chosen: Any) -> Selection:
    return choose(reader.lake(workspace), "demo", steps=["l.i1"], **chosen)


def one(frame: pl.DataFrame, **values: Any) -> dict[str, Any]:
    return frame.filter(**values).row(0, named=True)


def unlinked(html: Any) -> str:
    """The markup without the links to queries."""
    return re.sub(r" <a [^>]*>query</a>", "", html.markup)


def captured(run_s: int) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Rows of host, process and device for every second of a run, each figure growing by its own step."""
    rows = []
    for name in ("host_samples", "process_samples", "device_samples"):
        fixed: dict[str, Any] = {"device": "vda", "holds_data": True, "pid": 7}
        columns = [column for column in TABLES[name].columns if column.name not in ("run_id", *fixed)]
        for tick in range(run_s):
            row = {c.name: tick * (0.5 if pa.types.is_floating(c.type) else place) for place, c in enumerate(columns)}
            row |= {"tick": tick, "t_s": tick + 0.25}
            rows.append((name, row | {key: fixed[key] for key in fixed if key in TABLES[name].required}))
    return tuple(rows)


def everything(seconds: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Each figure of the server, growing."""
    columns = [figure.column for figure in FIGURES if figure.column != "history_list_length"]
    return tuple((name, tuple(second * 7 * n for second in range(seconds))) for n, name in enumerate(columns, 1))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A run with all panels and no stall, one with a stall, one that failed with a stall."""
    root = tmp_path_factory.mktemp("detail")
    shutil.copytree(ROOT / "notebooks", root / "notebooks")
    failed = Run("x", minute=2, status="failed", failed_step="l.i1", steps=("l.i0", "l.x", "l.i1"), stall=(7,))
    slow = replace(STALLED, sampled=(("pages_written", WRITTEN),))
    write_runs(Workspace(root), Run(sampled=everything(10), also=captured(60)), slow, failed)
    return Workspace(root)


@pytest.fixture(scope="module")
def detail(place: Workspace) -> StepDetail:
    found: StepDetail = ib.step_detail(l_i1(place).ask)
    return found


# Stalls


def test_a_stall_is_the_seconds_under_half_of_the_median(workspace: Workspace) -> None:
    write_runs(workspace, Run(), STALLED)
    post = l_i1(workspace)
    (stall,) = post.ask("stalls").to_dicts()
    # Both clients insert 25,000 rows in the ten seconds that are left of twelve.
    assert {name: stall[name] for name in ("dbms", "stall", "from_s", "to_s", "seconds", "rate", "median_rate")} == {
        "dbms": "system.slow", "stall": 1, "from_s": 4, "to_s": 6, "seconds": 2, "rate": 0.0, "median_rate": 5000.0,
    }  # fmt: skip
    assert (stall["clients_seen"], stall["clients"]) == (2, 2)
    assert stall["max_response_s"] == 2.1  # it ended in second 6, after the stall
    steady, slow = post.ask("steadiness").to_dicts()
    assert (steady["stalls"], steady["stalled_seconds"], steady["longest_s"]) == (0, 0, None)
    assert (slow["stalls"], slow["stalled_seconds"], slow["longest_s"], slow["longest_from_s"]) == (1, 2, 2, 4)
    assert (slow["rated_seconds"], slow["min_rate"], slow["max_response_s"]) == (12, 0.0, 2.1)
    assert re.findall(r"<li>(.*?)</li>", unlinked(ib.steadiness_facts(post.ask("steadiness")))) == [
        "system.cy10a: no stall in 10 full seconds; the slowest had 5,000 of a median of 5,000 inserts/s. "
        "Worst response 2.0 ms.",
        "system.slow: 1 stall, 2 of 12 full seconds, below half of a median of 5,000 inserts/s; "
        "the longest 2 s from second 4. Worst response 2.100 s.",
    ]


def test_stalls_are_apart_where_a_second_between_them_is_not_one(workspace: Workspace) -> None:
    write_runs(workspace, Run(l_i1_s=15, stall=(0, 3, 4, 6, 14)))
    found = l_i1(workspace).ask("stalls").select("stall", "from_s", "to_s").rows()
    assert found == [(1, 0, 1), (2, 3, 5), (3, 6, 7), (4, 14, 15)]


def test_an_index_step_has_no_stalls_and_a_query_step_is_judged_by_its_queries(workspace: Workspace) -> None:
    write_runs(workspace, Run())
    steps = choose(reader.lake(workspace), "demo").ask("steadiness")
    assert one(steps, step="l.x")["rated_seconds"] is None
    assert one(steps, step="qr100")["median_rate"] == 1000.0
    said = ib.steadiness_facts(steps.filter(step="l.x")).markup
    assert "l.x is one statement per index and client, so it has no rate per second and no stalls." in said


def test_stalls_and_extremes_are_found_however_few_points_a_chart_has(workspace: Workspace) -> None:
    growing = tuple(np.cumsum([1000 if second == 60 else 10 for second in range(130)]).tolist())
    write_runs(workspace, Run(l_i1_s=130, stall=(77,), sampled=(("pages_written", growing),)))
    detail = ib.step_detail(l_i1(workspace, points=7).ask)
    assert detail.stalls.select("from_s", "to_s").rows() == [(77, 78)]
    inserts = detail.series.filter(series="inserts_per_s")
    assert inserts["bucket_s"].unique().to_list() == [19]  # (130 + 2) / 7, rounded up
    assert inserts.filter(pl.col("low") == 0)["t_s"].to_list() == [4.5 * 19]
    written = detail.series.filter(series="pages_written_per_s")
    assert written.filter(pl.col("high") > 10).select("t_s", "low", "high").rows() == [(3.5 * 19, 10.0, 1000.0)]
    figure = ib.step_detail_chart(detail.series, detail=detail)
    assert max(len(trace.x) for trace in figure.data if trace.type == "scatter") == 7
    assert [(shape.x0, shape.x1) for shape in figure.layout.shapes] == [(77, 78)]


# What moved


def test_what_moved_in_a_stall_is_weighed_by_the_time_that_lies_in_it(workspace: Workspace) -> None:
    sampled = (("pages_written", WRITTEN), ("pages_read", READ), ("dirty_pages", (50,) * 4 + (90,) * 2 + (50,) * 6))
    write_runs(workspace, Run(l_i1_s=12, stall=(4, 5), sampled=sampled))
    company = l_i1(workspace).ask("stall_company")
    together = company.filter(pl.col("stall").is_null())
    written = one(together, series="pages_written_per_s")
    # (0.5 * 250 + 400 + 0.5 * 250) / 2 s; outside 8 intervals of 100 and the two other halves of 250, in 9 s.
    assert written["stall_mean"] == pytest.approx(325.0)
    assert written["other_mean"] == pytest.approx((8 * 100 + 250) / 9)
    assert (written["other_low"], written["other_high"]) == (100.0, 100.0)
    assert (written["moved"], written["place"], written["samples"]) == (True, 1, 3)
    dirty = one(together, series="dirty_pages")
    assert (dirty["stall_mean"], dirty["other_mean"], dirty["moved"], dirty["place"]) == (90.0, 50.0, True, 2)
    # Half a page a second in the stall and none outside: more, but too little to tell.
    read = one(together, series="pages_read_per_s")
    assert (read["stall_mean"], read["moved"]) == (0.5, False)
    assert one(together, series="history_list_length")["moved"] is False
    missing = one(together, series="checkpoint_age_bytes")
    assert (missing["stall_mean"], missing["moved"], missing["samples"]) == (None, None, 0)
    assert company.filter(stall=1)["series"].to_list() == ["pages_written_per_s", "dirty_pages"]


def test_what_lies_within_the_usual_range_did_not_move(workspace: Workspace) -> None:
    usual = (0, 500, 500, 1000, 1000, 1500, 1500, 2000, 2000, 2500, 2500, 3000)  # 500 in every other second
    write_runs(workspace, Run(l_i1_s=12, stall=(4,), sampled=(("pages_written", usual),)))
    together = l_i1(workspace).ask("stall_company").filter(pl.col("stall").is_null())
    assert one(together, series="pages_written_per_s")["moved"] is False


def test_a_gauge_that_follows_no_stall_is_not_listed_and_without_stalls_nothing_is(workspace: Workspace) -> None:
    write_runs(workspace, Run())
    assert l_i1(workspace).ask("stall_company").is_empty()


def test_the_tables_say_when_how_bad_and_what_moved(detail: StepDetail) -> None:
    stalls = text_rows(ib.stalls_table(detail.stalls, detail=detail).as_raw_html())
    assert stalls == {
        "system.slow": ["4 to 5 (2 s)", "0", "0", "2,100.0", "2 of 2", "server pages written 2.79x"],
        "system.x (failed)": ["7", "0", "0", "2,100.0", "2 of 2", "nothing beyond its usual range"],
    }
    moved, still = (
        ib.stall_company_table(detail.stall_company.filter(dbms=dbms), detail=detail).as_raw_html()
        for dbms in ("system.slow", "system.x")
    )
    assert text_rows(moved) == {"server pages written/s": ["325", "117", "2.79x", "100 to 100"]}
    assert "Not captured, or without a value in or outside the stalls: " in moved and "server redo lsn bytes" in moved
    assert "What moved in the stalls of l.i1: system.x (failed), cached" in still
    assert list(text_rows(still)) == ["nothing beyond its usual range"]


def text_rows(markup: str) -> dict[str, list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", markup, re.DOTALL)
    cells = [
        [html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)]
        for row in rows
    ]
    return {row[0]: row[1:] for row in cells if len(row) > 1}


# Response times over time


def random_run(workspace: Workspace, seconds: int) -> list[list[np.ndarray[Any, Any]]]:
    """A run of one step whose responses are drawn: nanoseconds by second and client; second 3 has none."""
    rng = np.random.default_rng(5)
    run = Run(steps=())
    writer = RunWriter(workspace.run_dir(run.run_id))
    key = {"step_id": 2, "step": "l.i1"}
    drawn = []
    for second in range(seconds):
        size = 0 if second == 3 else 200
        drawn.append([rng.lognormal(14, 2, size).astype(np.int64) for _ in (1, 2)])
        for worker, latencies in enumerate(drawn[-1]):
            bins, counts = bin_latencies(latencies)
            writer.append(
                "ops", **key, client=worker + 1, worker=worker, operation="insert", second=second, ops=len(latencies),
                rows=len(latencies), errors=0, retries=0, unknown=0, service_sum_us=0.0,
                service_max_us=float(latencies.max()) / 1000 if size else None,
                service_bins=bins, service_counts=counts,
                intended_max_us=None, intended_bins=None, intended_counts=None,
            )  # fmt: skip
    for worker in (0, 1):
        writer.append(
            "workers", **key, client=worker + 1, worker=worker, role="inserter", status="complete", start_s=1.0,
            end_s=1.0 + seconds, ops=1, rows=1, errors=0, retries=0, unknown=0,
        )  # fmt: skip
    writer.append(
        "steps", **key, kind="write", status="complete", clients=2, start_s=1.0, end_s=1.0 + seconds,
        duration_s=float(seconds), insert_rows_per_commit=1, target_rows_per_s=None, existing_rows=0,
        history_list_length=None, client_bound=None,
    )  # fmt: skip
    writer.seal(manifest_of(run))
    return drawn


@pytest.mark.parametrize(("points", "bucket_s"), [(100, 1), (5, 3)])
def test_percentiles_over_time_are_those_of_the_raw_bins(workspace: Workspace, points: int, bucket_s: int) -> None:
    drawn = random_run(workspace, 10)
    found = l_i1(workspace, points=points).ask("response_percentiles_over_time")
    assert found["t_s"].to_list() == [(bucket + 0.5) * bucket_s for bucket in range(-(-10 // bucket_s))]
    for row in found.to_dicts():
        first = int(row["t_s"] - bucket_s / 2)
        latencies = np.concatenate([of for second in drawn[first : first + bucket_s] for of in second])
        assert row["responses"] == len(latencies)
        if not len(latencies):
            assert [row[name] for name in ("p50_s", "p99_s", "p999_s", "max_s")] == [None] * 4
            continue
        # Sealed runs keep the largest response in whole microseconds.
        largest = round(latencies.max() / 1000)
        assert row["max_s"] == largest / 1e6
        bins, counts = bin_latencies(latencies)
        for name, per_mille in (("p50_s", 500), ("p99_s", 990), ("p999_s", 999)):
            place = bins[int(np.searchsorted(1000 * np.cumsum(counts), per_mille * len(latencies)))]
            middle = (lower_edge_us(place) + lower_edge_us(place + 1)) / 2
            assert row[name] == pytest.approx(min(middle, largest) / 1e6, rel=1e-12)
            exact = np.quantile(latencies, per_mille / 1000, method="inverted_cdf") / 1e9
            assert row[name] == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize(("points", "bucket_s"), [(100, 1), (5, 3)])
def test_shares_over_time_are_those_of_the_responses(workspace: Workspace, points: int, bucket_s: int) -> None:
    drawn = random_run(workspace, 10)
    found = l_i1(workspace, points=points).ask("response_shares_over_time")
    for (t_s,), column in found.group_by("t_s"):
        first = int(t_s - bucket_s / 2)  # type: ignore[operator]
        latencies = np.concatenate([of for second in drawn[first : first + bucket_s] for of in second]) / 1e9
        assert column["share"].sum() == pytest.approx(100)
        for from_s, share in column.select("from_s", "share").iter_rows():
            mine = np.count_nonzero((latencies >= from_s) & (latencies < 2 * from_s))
            assert share == pytest.approx(100 * mine / len(latencies))
    assert bucket_s > 1 or 3.5 not in found["t_s"]


def test_a_second_without_a_response_is_a_gap(detail: StepDetail) -> None:
    figure = ib.step_detail_chart(detail.series.filter(dbms="system.slow"), detail=detail)
    drawn = {trace.name: trace for trace in figure.data}
    assert list(drawn["p50"].x) == [second + 0.5 for second in range(12)]
    for name in ("p50", "p99.9", "insert"):
        assert [second for second, value in enumerate(drawn[name].y) if value is None] == [4, 5], name
    assert drawn["insert"].y[6] == 2100.0  # ms
    heat = ib.response_heat_chart(detail.response_percentiles_over_time.filter(operation="insert"))
    middle, *_, largest = (trace.customdata for trace in heat.data)
    assert [second for second, value in enumerate(middle[1][:12]) if value is None] == [4, 5]
    assert largest[1][6] == 2100.0


# The time axis


def test_seconds_samples_and_rates_stand_where_they_belong(workspace: Workspace) -> None:
    write_runs(workspace, Run(l_i1_s=12, stall=(4, 5), sampled=(("pages_written", WRITTEN),), also=captured(40)))
    post = l_i1(workspace)
    inserts = post.ask("operation_series").filter(series="inserts_per_s")
    assert inserts.select("t_s", "middle").rows()[3:7] == [(3.5, 5000.0), (4.5, 0.0), (5.5, 0.0), (6.5, 5000.0)]
    server = post.ask("server_series")
    lag = server.filter(series="history_list_length")
    assert lag["t_s"].to_list() == [second + 0.5 for second in range(12)]  # read at that moment
    written = server.filter(series="pages_written_per_s").filter(pl.col("middle").is_not_null())
    # The interval that ends at the sample of 1.5 s is the first that lies in the step.
    assert written["t_s"].to_list() == [float(second) for second in range(1, 12)]
    assert written["middle"].to_list() == [100.0, 100, 100, 250, 400, 250, 100, 100, 100, 100, 100]
    busy = post.ask("device_series").filter(series="busy_s_per_s").filter(pl.col("middle").is_not_null())
    # Read at 15.25, 16.25 ... 26.25 s of the run, which are 0.25 ... 11.25 s of the step.
    assert busy["t_s"].to_list() == [second + 0.75 for second in range(11)]
    cpu = post.ask("cpu_series").filter(source="host", series="cpu_per_s").drop_nulls("middle")
    assert set(cpu["middle"]) == {1.0}  # user and system grow by half a second each


# Charts


def panels_of(figure: go.Figure) -> list[str]:
    return [note.text for note in figure.layout.annotations if note.font.size == 12]


def axes_of(figure: go.Figure) -> dict[str, Any]:
    names = [name for name in figure.layout if re.fullmatch(r"[xy]axis\d*", name)]
    return {name: (figure.layout[name].range, figure.layout[name].domain) for name in names}


def test_runs_have_the_same_panels_and_axes_and_their_own_stalls(detail: StepDetail) -> None:
    figures = [
        ib.step_detail_chart(rows, detail=detail) for _, rows in detail.series.group_by("run_id", maintain_order=True)
    ]
    titles = [figure.layout.meta["title"] for figure in figures]
    assert titles == [f"l.i1, cached: system.{name}" for name in ("cy10a", "slow", "x (l.i1: failed)")]
    assert axes_of(figures[0]) == axes_of(figures[1]) == axes_of(figures[2])
    wanted = [panel.title for panel in step_panels.panels_of(detail.step_families)]
    assert wanted[:2] == ["Inserts and deletes", "Worst response"]
    for figure in figures:
        assert [text.split(" (")[0] for text in panels_of(figure)] == wanted
        assert {trace.type for trace in figure.data} <= {"scatter", "heatmap"}
    said = [[note.text for note in figure.layout.annotations].count("not captured") for figure in figures]
    # The others have rates, worst responses, percentiles, the history list, and one of them flushing.
    assert said == [0, len(wanted) - 5, len(wanted) - 4]
    bands = [[(band.x0, band.x1) for band in figure.layout.shapes] for figure in figures]
    assert bands == [[], [(4, 6)], [(7, 8)]]


def test_the_lines_of_a_panel_share_its_unit() -> None:
    rates = [(family, f"{family}s/s", counts) for family, counts in (("w", "rows"), ("x", "ops"), ("y", "ops"))]
    families = [
        {
            "family": name,
            "label": label,
            "counts": counts,
            "rate_series": f"{name}s_per_s",
            "worst_series": f"{name}_max_s",
        }
        for name, label, counts in rates
    ]
    panels = step_panels.panels_of(pl.DataFrame(families))
    assert [(panel.title, panel.unit) for panel in panels[:3]] == [
        ("Xs and ys", "operations/s"), ("Ws", "rows/s"), ("Worst response", ""),
    ]  # fmt: skip
    for panel in panels:
        if panel is not RESPONSES:
            assert len({replace(shown(line.source, line.series), name="") for line in panel.lines}) == 1, panel.title
    assert shown("device", "read_bytes_per_s") == SeriesText("device read bytes", "MB/s", 2.0**-20)
    assert shown("device", "busy_s_per_s") == SeriesText("device busy", "%", 100.0)
    assert shown("host", "cpu_iowait_s_per_s") == SeriesText("host cpu iowait", "CPUs", 1.0)


def test_what_was_not_captured_is_said_with_its_reason(workspace: Workspace) -> None:
    (writer,) = write_runs(workspace, Run())
    manifest = writer.run_dir / "manifest.json"
    reason = '"null_reasons": {"server_samples.redo_waits": "this server has no status Innodb_log_waits"}'
    manifest.write_bytes(with_checksum(json.loads(re.sub(r'"null_reasons": \{\}', reason, manifest.read_text()))))
    said = re.findall(r"<li>(.*?)</li>", unlinked(ib.not_captured(ib.step_detail(l_i1(workspace).ask))))
    assert "Waits: log buffer (this server has no status Innodb_log_waits): system.cy10a" in said
    assert "Device, busy (no sample in the step): system.cy10a" in said
    assert not any(line.startswith("History list") for line in said)


def test_a_device_without_a_request_has_no_time_of_one(workspace: Workspace) -> None:
    idle = tuple(
        (table, row | {"writes": 5, "write_s": 1.0, "flushes": None, "flush_s": None})
        for table, row in captured(40)
        if table == "device_samples"
    )
    (writer,) = write_runs(workspace, Run(also=idle))
    manifest = writer.run_dir / "manifest.json"
    kernel = "this kernel, before 5.5, does not count flushes"
    reasons = f'"null_reasons": {{"device_samples.flushes": "{kernel}", "device_samples.flush_s": "{kernel}"}}'
    manifest.write_bytes(with_checksum(json.loads(re.sub(r'"null_reasons": \{\}', reasons, manifest.read_text()))))
    detail = ib.step_detail(l_i1(workspace).ask)
    writes = one(detail.series.filter(pl.col("middle").is_not_null()), source="device", series="writes_per_s")
    assert writes["middle"] == 0
    said = unlinked(ib.not_captured(detail))
    assert "<li>Device, time of a request: write (none was counted in the step): system.cy10a</li>" in said
    assert f"<li>Device, time of a request: flush ({kernel}): system.cy10a</li>" in said
    assert f"<li>Device, requests: flushes ({kernel}): system.cy10a</li>" in said


# Runs that are not whole


def test_nothing_is_judged_after_the_last_report_of_a_client_that_died(workspace: Workspace) -> None:
    key = {"step_id": 2, "step": "l.i1"}
    more: list[tuple[str, dict[str, Any]]] = []
    for worker, (role, operation) in enumerate([("inserter", "insert"), ("deleter", "delete")] * 2):
        # The others go on for two seconds, until it is seen that the first one says nothing any more.
        here = {**key, "client": 1 + worker // 2, "worker": worker}
        status = "interrupted" if worker else "failed"
        counts = {"ops": 1, "rows": 1, "errors": 0, "retries": 0, "unknown": 0}
        more.append(("workers", here | counts | {"role": role, "status": status, "start_s": 15.0, "end_s": 27.0}))
        nothing = {"service_bins": [], "service_counts": [], "service_sum_us": 0.0}
        more += [
            ("ops", here | counts | nothing | {"operation": operation, "second": second})
            for second in (10, 11)
            if worker
        ]
    ended = {"kind": "write", "status": "failed", "clients": 2, "start_s": 15.0, "end_s": 27.0, "duration_s": 12.0}
    more.append(("steps", key | ended | {"existing_rows": 0}))
    failed = Run(status="failed", failed_step="l.i1", steps=("l.i0", "l.x", "l.i1"), also=tuple(more))
    write_runs(workspace, failed)
    row = l_i1(workspace).ask("steadiness").row(0, named=True)
    assert (row["duration_s"], row["full_seconds"], row["rated_seconds"], row["stalls"]) == (12.0, 10, 10, 0)


def test_a_median_of_nothing_tells_no_stall(workspace: Workspace) -> None:
    write_runs(workspace, Run(stall=(1, 2, 3, 4, 5, 6)))
    row = l_i1(workspace).ask("steadiness")
    assert (row["median_rate"][0], row["stalls"][0]) == (0.0, 0)
    assert "a median of 0 inserts/s in 10 full seconds, and so nothing to tell a stall by" in (
        ib.steadiness_facts(row).markup
    )


def test_a_step_that_runs_is_judged_only_as_far_as_every_client_has_reported(workspace: Workspace) -> None:
    live = Run("live", status="running", steps=("l.i0", "l.x", "l.i1"), l_i1_s=10)
    writer = begin_run(workspace, live, sealed=("l.i0", "l.x"))
    # One of the two inserters has reported a second more.
    ops = reader.sql(reader.lake(workspace), "FROM ops WHERE step = 'l.i1' AND worker = 0 AND second = 9")
    writer.append("ops", **{**ops.drop("run_id").to_dicts()[0], "second": 10})
    try:
        steadiness = wait_for(workspace, seconds=11)
        row = steadiness.row(0, named=True)
        assert (row["step_status"], row["full_seconds"], row["rated_seconds"], row["stalls"]) == ("running", 10, 10, 0)
        detail = ib.step_detail(l_i1(workspace).ask)
        title = ib.step_detail_chart(detail.series, detail=detail).layout.meta["title"]
        assert title == "l.i1, cached: system.live (l.i1: running)"
        assert "system.live: l.i1 is running; its first 11.0 s are shown; no stall in 10 full seconds" in (
            ib.steadiness_facts(steadiness).markup
        )
    finally:
        die(writer)


def wait_for(workspace: Workspace, seconds: int) -> pl.DataFrame:
    """How steady the step was, once the journal has that many seconds."""
    for _ in range(200):
        found = l_i1(workspace).ask("steadiness")
        if found["duration_s"][0] == seconds:
            break
    return found


def test_a_failed_step_says_how_far_it_went(detail: StepDetail) -> None:
    said = ib.steadiness_facts(detail.steadiness).markup
    assert "system.x: l.i1 failed after 10.0 s and is shown up to there; 1 stall, 1 of 10 full seconds" in said


def test_a_step_that_was_never_begun_says_so(workspace: Workspace) -> None:
    write_runs(workspace, Run(status="failed", failed_step="l.x", steps=("l.i0",)))
    post = l_i1(workspace)
    assert "<li>system.cy10a: l.i1 was not run (the run: failed).</li>" in (
        unlinked(ib.steadiness_facts(post.ask("steadiness")))
    )
    assert post.ask("operation_series").is_empty() and post.ask("server_series").is_empty()
    assert ib.not_captured(ib.step_detail(post.ask)).markup == ""


def test_a_step_loaded_from_a_snapshot_is_not_said_to_have_failed(workspace: Workspace) -> None:
    write_runs(workspace, Run(steps=("l.i1", "qr100"), loaded_from="another"))
    steadiness = choose(reader.lake(workspace), "demo", steps=["l.i0"]).ask("steadiness")
    assert "<li>system.cy10a: l.i0 was loaded from a snapshot, so this run did not run it.</li>" in (
        unlinked(ib.steadiness_facts(steadiness))
    )


def test_an_axis_of_less_than_two_decades_has_more_ticks_than_powers_of_ten(detail: StepDetail) -> None:
    figure = ib.step_detail_chart(detail.series.filter(dbms="system.slow"), detail=detail)
    ticks = [axis.ticktext for axis in figure.select_yaxes() if axis.type == "log"]
    assert ticks[0] == ("1", "10", "100", "1000")  # worst responses: 2 ms and 2.1 s
    quick = replace(detail, series=detail.series.filter(dbms="system.cy10a"))
    figure = ib.step_detail_chart(quick.series, detail=quick)
    assert next(axis.ticktext for axis in figure.select_yaxes() if axis.type == "log") == ("1", "2", "5")


def test_the_post_of_the_sample_says_what_its_runs_show(workspace: Workspace) -> None:
    workspace.data.mkdir(parents=True, exist_ok=True)
    workspace.sample.symlink_to(ROOT / "data" / "sample")
    wanted = YAML().load(ROOT / "papermill_params" / "step_detail" / "sample-l-i1.yml")["parameters"]
    post = choose(reader.lake(workspace), wanted["experiment"], runs=wanted["runs"], steps=[wanted["step"]])
    detail = ib.step_detail(post.ask)
    base, limited = detail.steadiness.to_dicts()
    assert (base["dbms"], base["stalls"]) == ("mysql-9.7.base", 1)
    assert (limited["dbms"], limited["stalls"]) == ("mysql-9.7.a13", 0)
    (stall,) = detail.stalls.rows(named=True)
    of_base = detail.series.filter(dbms="mysql-9.7.base")
    for series in ("reads_per_s", "free_page_waits_per_s"):
        rows = of_base.filter(pl.col("series") == series)
        greatest = rows.sort("middle", nulls_last=False)["t_s"][-1]
        assert stall["from_s"] - 0.5 <= greatest <= stall["to_s"] + 0.5, series
    lag = detail.series.filter(series="history_list_length").group_by("dbms").agg(pl.col("high").max())
    assert dict(lag.iter_rows()) == {"mysql-9.7.base": 10279.0, "mysql-9.7.a13": 115.0}
    waits = detail.series.filter(series="free_page_waits_per_s", dbms="mysql-9.7.a13")
    assert waits["high"].max() == 0


# The notebook and its page


def cells_run(place: Workspace, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> dict[str, Any]:
    """Run the notebook's cells in this process; cell id -> value of its last line."""
    monkeypatch.setenv("IBENCH_HOME", str(place.root))
    names: dict[str, Any] = {}
    values = {}
    for cell in nbformat.read(ROOT / "notebooks" / "step_detail.ipynb", as_version=4).cells:
        if cell.cell_type == "code":
            body = ast.parse(cell.source).body
            last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
            exec(compile(ast.Module(body, []), cell.id, "exec"), names)
            values[cell.id] = eval(compile(last, cell.id, "eval"), names) if last else None
            if cell.id == "parameters":
                names |= changes
    return values


def said(value: Any) -> str:
    items = value.items if hasattr(value, "items") else [value]
    return " ".join(re.sub(r"<[^>]+>", "", unlinked(item)) for item in items)


def test_an_empty_lake_gives_clear_sentences(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    values = cells_run(workspace, monkeypatch)
    assert "no run of this experiment" in said(values["provenance"])
    assert said(values["gaps"]) == "There is no run yet."
    assert said(values["not-captured"]) == ""
    assert said(values["steadiness"]) == "There is no step to show."
    assert said(values["stalls-tables"]) == "No stall to list."
    assert said(values["detail-charts"]) == "No second was recorded."
    assert said(values["response-heat"]) == "No response."


@pytest.fixture(scope="module")
def page(place: Workspace) -> Path:
    """The page that the stored post file makes of these runs."""
    return build_post(ROOT / "papermill_params" / "step_detail" / "demo-l-i1.yml", place)


@pytest.fixture(scope="module")
def opened(page: Path, browser: Browser) -> Page:
    found = open_post(browser, page)
    assert found.requests == [page.as_uri()]
    assert found.complaints == []
    return found.page


def test_every_panel_of_the_page_is_drawn(opened: Page) -> None:
    charts = opened.evaluate(
        """[...document.querySelectorAll('#time-axis figure.chart')].map(chart => ({
            title: chart.querySelector('figcaption').textContent,
            panels: [...chart.querySelectorAll('.cartesianlayer .subplot')].map(panel =>
                [...panel.querySelectorAll('.trace path')].filter(path => path.getBBox().width > 1).length),
            bands: chart.querySelectorAll('.shapelayer path').length,
            images: chart.querySelectorAll('.hm image').length,
        }))"""
    )
    titles = ["l.i1, cached: system.cy10a", "l.i1, cached: system.slow", "l.i1, cached: system.x (l.i1: failed)"]
    assert [chart["title"] for chart in charts] == titles
    assert all(len(chart["panels"]) == 15 for chart in charts), charts
    assert all(charts[0]["panels"]), charts[0]
    assert [chart["bands"] for chart in charts] == [0, 1, 1]
    assert all(chart["images"] == 1 for chart in charts)
    assert opened.locator("#response-times figure.chart .hm image").count() == 2 * 4  # insert and delete


def test_the_page_s_tables_and_sentences(opened: Page) -> None:
    assert list(table_rows(opened, "Stalls of l.i1, cached")) == ["system.slow", "system.x (failed)"]
    said = opened.locator("#stalls li").all_inner_texts()
    assert any(line.startswith("system.x: l.i1 failed after 10.0 s") for line in said)
    assert opened.locator("th:not([scope])").count() == 0
    assert opened.evaluate("document.documentElement.scrollWidth") == 1280
    too_wide = "tables => tables.filter(table => table.scrollWidth > table.clientWidth).length"
    assert opened.locator("main .table").evaluate_all(too_wide) == 0


def test_each_sentence_and_the_time_axis_lead_to_the_questions_they_rest_on(opened: Page) -> None:
    links = "found => found.map(e => [...e.querySelectorAll('a.source')].map(a => a.getAttribute('href')))"
    assert opened.locator("#stalls li").evaluate_all(links) == [["#evidence.steadiness"]] * 3
    missing = opened.locator("#time-axis li").evaluate_all(links)
    assert missing and all(found == ["#evidence.uncaptured"] for found in missing)
    assert opened.locator("#time-axis p.source").inner_text() == (
        "SQL and data: operation_series, server_series, device_series, cpu_series, response_percentiles_over_time, "
        "response_shares_over_time, steadiness, stalls"
    )


def test_hovering_names_a_panel_s_lines_at_one_moment(opened: Page) -> None:
    chart = opened.locator("#time-axis figure.chart .plot").first
    chart.evaluate("chart => chart.scrollIntoView({behavior: 'instant'})")
    box = chart.locator(".nsewdrag").first.bounding_box()
    assert box
    opened.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    opened.mouse.move(box["x"] + box["width"] / 2 + 2, box["y"] + box["height"] / 2 + 1)
    hover = opened.locator("#time-axis .hoverlayer .legend").first
    hover.wait_for(timeout=5000)
    assert re.search(r"inserts : 5000 rows/s.*deletes : 5000 rows/s", hover.text_content() or "")
