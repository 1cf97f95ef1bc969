"""The chart of a step, panel by panel."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.paths import Workspace
from ibench_lib.show.step_detail import panels as step_panels
from ibench_lib.show.step_detail.detail import StepDetail
from ibench_lib.store.manifest import with_checksum
from tests.show.stalled import WRITTEN, captured, l_i1, l_i1_of, one, unlinked
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake


@pytest.mark.slow
def test_stalls_and_extremes_are_found_however_few_points_a_chart_has() -> None:
    growing = tuple(np.cumsum([1000 if second == 60 else 10 for second in range(130)]).tolist())
    run = Run(l_i1_s=130, stall=(77,), sampled=(("pages_written", growing),))
    detail = ib.step_detail(l_i1_of(run, points=7).ask)
    assert detail.stalls.select("from_s", "to_s").rows() == [(77, 78)]
    inserts = detail.series.filter(series="inserts_per_s")
    assert inserts["bucket_s"].unique().to_list() == [19]  # (130 + 2) / 7, rounded up
    assert inserts.filter(pl.col("low") == 0)["t_s"].to_list() == [4.5 * 19]
    written = detail.series.filter(series="pages_written_per_s")
    assert written.filter(pl.col("high") > 10).select("t_s", "low", "high").rows() == [(3.5 * 19, 10.0, 1000.0)]
    figure = ib.step_detail_chart(detail.series, detail=detail)
    assert max(len(trace.x) for trace in figure.data if trace.type == "scatter") == 7
    assert [(shape.x0, shape.x1) for shape in figure.layout.shapes] == [(77, 78)]


@pytest.mark.long
@pytest.mark.slow
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


@pytest.mark.slow
def test_seconds_samples_and_rates_stand_where_they_belong() -> None:
    post = l_i1_of(Run(l_i1_s=12, stall=(4, 5), sampled=(("pages_written", WRITTEN),), also=captured(40)))
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


def panels_of(figure: go.Figure) -> list[str]:
    return [note.text for note in figure.layout.annotations if note.font.size == 12]


def axes_of(figure: go.Figure) -> dict[str, Any]:
    names = [name for name in figure.layout if re.fullmatch(r"[xy]axis\d*", name)]
    return {name: (figure.layout[name].range, figure.layout[name].domain) for name in names}


@pytest.mark.long
@pytest.mark.slow
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


@pytest.mark.long
@pytest.mark.slow
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
    manifest.write_bytes(with_checksum(json.loads(re.sub(r"\"null_reasons\": \{\}", reasons, manifest.read_text()))))
    detail = ib.step_detail(l_i1(workspace).ask)
    writes = one(detail.series.filter(pl.col("middle").is_not_null()), source="device", series="writes_per_s")
    assert writes["middle"] == 0
    said = unlinked(ib.not_captured(detail))
    assert "<li>Device, time of a request: write (none was counted in the step): system.cy10a</li>" in said
    assert f"<li>Device, time of a request: flush ({kernel}): system.cy10a</li>" in said
    assert f"<li>Device, requests: flushes ({kernel}): system.cy10a</li>" in said


@pytest.mark.long
@pytest.mark.slow
def test_an_axis_of_less_than_two_decades_has_more_ticks_than_powers_of_ten(detail: StepDetail) -> None:
    figure = ib.step_detail_chart(detail.series.filter(dbms="system.slow"), detail=detail)
    ticks = [axis.ticktext for axis in figure.select_yaxes() if axis.type == "log"]
    assert ticks[0] == ("1", "10", "100", "1000")  # worst responses: 2 ms and 2.1 s
    quick = replace(detail, series=detail.series.filter(dbms="system.cy10a"))
    figure = ib.step_detail_chart(quick.series, detail=quick)
    assert next(axis.ticktext for axis in figure.select_yaxes() if axis.type == "log") == ("1", "2", "5")
