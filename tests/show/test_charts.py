"""Charts: what is drawn is what was asked, nothing is hidden by drawing less, text stays text."""

from dataclasses import replace
from typing import Any

import plotly.graph_objects as go
import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.lake import reader
from ibench_lib.lake.manifest import Status
from ibench_lib.paths import Workspace
from ibench_lib.show.theme import inert, series
from tests.synthetic import Run, answer, three_configurations, write_runs


def ask(workspace: Workspace, name: str, *runs: Run, **more: Any) -> pl.DataFrame:
    write_runs(workspace, *runs)
    return answer(reader.lake(workspace), name, **more)


def traces(figure: go.Figure, name: str) -> list[Any]:
    return [trace for trace in figure.data if trace.name == name]


def one(frame: pl.DataFrame, **values: str) -> pl.DataFrame:
    return frame.filter(*(pl.col(column) == value for column, value in values.items()))


def test_purge_lag_draws_all_dbms_of_a_step_together(workspace: Workspace) -> None:
    frame = ask(workspace, "purge_lag_series", *three_configurations(), points=2000)
    figure = ib.purge_lag_chart(one(frame, step="l.i1"))
    assert [trace.name for trace in figure.data] == ["system.cy10a", "system.cy10ap1", "system.cy10ap1lag"]
    (lagging,) = traces(figure, "system.cy10ap1")
    assert list(lagging.y) == [30000.0] * 10
    assert list(lagging.x) == [second + 0.5 for second in range(10)]
    assert figure.layout.meta["title"] == "History list length during l.i1, cached"


def test_a_sample_without_an_answer_is_a_gap_in_the_line(workspace: Workspace) -> None:
    frame = ask(workspace, "purge_lag_series", Run(), points=2000)
    missing = one(frame, step="l.i1").with_columns(
        hll_mean=pl.when(pl.col("bucket") == 3).then(None).otherwise(pl.col("hll_mean"))
    )
    (trace,) = ib.purge_lag_chart(missing).data
    assert trace.y[3] is None
    assert not trace.connectgaps


def test_a_dbms_looks_the_same_in_every_chart(workspace: Workspace) -> None:
    lag = ask(workspace, "purge_lag_series", *three_configurations(), points=2000)
    lake = reader.lake(workspace)
    figures = [
        ib.purge_lag_chart(one(lag, step="l.i1")),
        ib.purge_lag_chart(one(lag, step="l.i1", dbms="system.cy10ap1")),
        ib.get_min_chart(answer(lake, "get_min")),
    ]
    for figure in figures:
        (trace,) = traces(figure, "system.cy10ap1")
        assert trace.line.color == series(1)[0]
    assert len({series(position) for position in range(32)}) == 32


def test_history_list_at_step_end_has_one_group_a_step(workspace: Workspace) -> None:
    figure = ib.purge_lag_end_chart(ask(workspace, "purge_lag_at_step_end", *three_configurations()))
    (bars,) = traces(figure, "system.cy10ap1")
    assert list(bars.x) == ["l.i0", "l.x", "l.i1", "qr100"]
    assert list(bars.y) == [10, 20, 30000, 5]


def test_get_min_is_on_a_log_scale_with_every_client(workspace: Workspace) -> None:
    figure = ib.get_min_chart(ask(workspace, "get_min", Run()))
    assert figure.layout.yaxis.type == "log"
    (worst,) = traces(figure, "system.cy10a")
    assert list(worst.y) == [0.001, 0.001, 0.001, 0.5]
    (each,) = traces(figure, "system.cy10a, each client")
    assert list(each.y) == [0.001, 0.0005, 0.001, 0.0005, 0.001, 0.0005, 0.5, 0.25]


def test_one_second_panels_share_both_axes(workspace: Workspace) -> None:
    frame = ask(workspace, "one_second", *three_configurations(), points=2000)
    inserts = one(frame, step="l.i1", operation="insert")
    figure = ib.rate_chart(inserts)
    for kind in ("x", "y"):
        matches = [figure.layout[f"{kind}axis{number}"].matches for number in ("", 2, 3)]
        assert len(set(matches)) == 2 and matches.count(None) == 1  # one leads, the others follow it
    assert [note.text for note in figure.layout.annotations] == ["system.cy10a", "system.cy10ap1", "system.cy10ap1lag"]
    (total,) = traces(figure, "all clients, system.cy10ap1lag")
    assert list(total.y) == [2500.0] * 20
    assert len(traces(figure, "client 1")) == len(traces(figure, "client 2")) == 3
    worst = ib.max_response_chart(inserts)
    (total,) = traces(worst, "all clients, system.cy10a")
    assert list(total.y) == [2.0] * 10


@pytest.mark.parametrize("points", [7, 100])
def test_no_trace_has_more_points_than_asked_and_all_are_svg(workspace: Workspace, points: int) -> None:
    runs = [Run(l_i1_s=130)]
    seconds = ask(workspace, "one_second", *runs, points=points)
    lag = answer(reader.lake(workspace), "purge_lag_series", points=points)
    inserts = one(seconds, step="l.i1", operation="insert")
    lagging = one(lag, step="l.i1")
    for figure in (ib.rate_chart(inserts), ib.max_response_chart(inserts), ib.purge_lag_chart(lagging)):
        assert {trace.type for trace in figure.data} == {"scatter"}
        go.Figure(figure.to_dict())  # raises where plotly does not know what is in it
        assert 1 < max(len(trace.x) for trace in figure.data) <= points


def test_a_down_sampled_line_has_a_band_from_min_to_max(workspace: Workspace) -> None:
    lag = one(ask(workspace, "purge_lag_series", Run(l_i1_s=40), points=10), step="l.i1")
    stalled = lag.with_columns(
        hll_min=pl.when(pl.col("bucket") == 4).then(0).otherwise(pl.col("hll_min")),
        hll_max=pl.when(pl.col("bucket") == 4).then(90_000).otherwise(pl.col("hll_max")),
    )
    figure = ib.purge_lag_chart(stalled)
    (low,), (high,) = traces(figure, "min"), traces(figure, "max")
    assert (low.y[4], high.y[4], high.fill) == (0.0, 90_000.0, "tonexty")


@pytest.mark.parametrize("status", ["failed", "interrupted"])
def test_a_failed_step_or_run_says_so_at_its_name(workspace: Workspace, status: Status) -> None:
    failed = Run("x", minute=1, status=status, failed_step="l.i1", steps=("l.i0", "l.x", "l.i1"))
    frame = ask(workspace, "one_second", Run(), failed, points=2000)
    for step, name in (("l.i1", f"system.x (l.i1: {status})"), ("l.i0", f"system.x (run: {status})")):
        figure = ib.rate_chart(one(frame, step=step, operation="insert"))
        assert [note.text for note in figure.layout.annotations] == ["system.cy10a", name]
        lag = answer(reader.lake(workspace), "purge_lag_series", points=2000)
        assert [trace.name for trace in ib.purge_lag_chart(one(lag, step=step)).data] == ["system.cy10a", name]


def repeated() -> list[Run]:
    """Three repeats of one configuration, the last of them failed in qr100, and one run of another."""
    steps = ("l.i0", "l.x", "l.i1", "qr100")
    runs = [
        Run(repeat=n, minute=n, get_min_s=(0.001, 0.001, 0.001, s), history_list=(10, 20, h, 5))
        for n, s, h in ((1, 0.5, 300), (2, 0.75, 100), (3, 4.0, 900))
    ]
    runs[2] = replace(runs[2], status="failed", failed_step="qr100", steps=steps)
    return [*runs, Run("other", minute=5, history_list=(1, 2, 3, 4))]


def test_repeats_are_one_line_through_their_medians_and_a_dot_each(workspace: Workspace) -> None:
    figure = ib.get_min_chart(ask(workspace, "get_min", *repeated()))
    name = "system.cy10a (1 of 3 runs not complete)"
    (line,), (dots,) = traces(figure, name), traces(figure, f"{name}, each run")
    assert (list(line.x), list(line.y)) == (["l.i0", "l.x", "l.i1", "qr100"], [0.001, 0.001, 0.001, 0.75])
    assert sorted(dots.y)[-3:] == [0.5, 0.75, 4.0]
    assert len(traces(figure, "system.other")) == 1


def test_bars_of_repeats_are_medians_with_their_range_and_without_what_failed(workspace: Workspace) -> None:
    figure = ib.purge_lag_end_chart(ask(workspace, "purge_lag_at_step_end", *repeated()))
    (bars,) = traces(figure, "system.cy10a (1 of 3 runs not complete)")
    assert (list(bars.x), list(bars.y)) == (["l.i0", "l.x", "l.i1", "qr100"], [10, 20, 300, 5])
    assert bars.error_y.visible
    assert (list(bars.error_y.array), list(bars.error_y.arrayminus)) == ([0, 0, 600, 0], [0, 0, 200, 0])


def test_a_legend_has_complete_repeats_once_and_others_by_themselves(workspace: Workspace) -> None:
    lag = ask(workspace, "purge_lag_series", *repeated(), points=2000)
    for step, listed in (
        ("l.i1", ["system.cy10a", "system.cy10a r3 (run: failed)", "system.other"]),
        ("qr100", ["system.cy10a", "system.cy10a r3 (qr100: failed)", "system.other"]),
    ):
        figure = ib.purge_lag_chart(one(lag, step=step))
        assert [trace.name for trace in figure.data if trace.showlegend] == listed
        assert len(figure.data) == 4
    assert "system.cy10a r2" in figure.data[1].hovertemplate


def test_panels_of_repeats_stand_beside_each_other(workspace: Workspace) -> None:
    frame = one(ask(workspace, "one_second", *repeated(), points=2000), step="l.i1", operation="insert")
    figure = ib.rate_chart(frame)
    notes = {note.text: (note.x, note.y) for note in figure.layout.annotations}
    assert list(notes) == ["system.cy10a", "r2", "r3 (run: failed)", "system.other"]
    assert len({notes[name][1] for name in ("system.cy10a", "r2", "r3 (run: failed)")}) == 1
    assert len({notes[name][0] for name in ("system.cy10a", "r2", "r3 (run: failed)")}) == 3
    places = {(trace.xaxis, trace.yaxis) for trace in figure.data}
    assert len(places) == 4
    for trace in traces(figure, "all clients, system.cy10a r2"):
        axis = figure.layout[trace.xaxis.replace("x", "xaxis")]
        assert axis.domain[0] == notes["r2"][0]


def test_a_step_that_nobody_took_a_second_for_has_no_panels(workspace: Workspace) -> None:
    failed = Run("x", minute=1, status="failed", failed_step="l.i1", steps=("l.i0", "l.x", "l.i1"))
    frame = one(ask(workspace, "one_second", Run(), failed, points=2000), step="l.i1", operation="insert")
    short = frame.with_columns(rate_mean=pl.lit(None, pl.Float64))
    for figure in (ib.rate_chart(short), ib.max_response_chart(short)):
        assert not figure.data
        (note,) = figure.layout.annotations
        assert note.text == "no run has a full second of this step; system.x (l.i1: failed)"


def test_text_is_inert_for_plotly(workspace: Workspace) -> None:
    hostile = "<a href='javascript:x'>%{y}</a><b>"
    frame = ask(workspace, "purge_lag_series", Run(dbms=hostile, setup="<i>s</i>"), points=2000)
    figure = ib.purge_lag_chart(one(frame, step="l.i1"))
    (trace,) = figure.data
    assert trace.name == inert(hostile)
    for text in (trace.name, figure.layout.title.text):
        assert "<" not in text
        assert "%{" not in text
