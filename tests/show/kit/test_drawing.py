"""What holds for charts of every kind."""

import inspect
import json

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.show.kit.drawing import Drawing, dip_bands, dip_labels, drawing_of, plotted
from ibench_lib.show.kit.theme import series
from ibench_lib.store.manifest import Status
from tests.shared import asked
from tests.show.traces import one, traces
from tests.store.test_dips import CASES
from tests.synthetic import Run, three_configurations

pytestmark = pytest.mark.lake

DIPS = [
    {"from_s": 10, "to_s": 12, "lost": 5.0, "label": "lock"},
    {"from_s": 14, "to_s": 15, "lost": 9.0, "label": "redo"},
    {"from_s": 60, "to_s": 61, "lost": 1.0, "label": "unexplained"},
]


def test_a_dbms_looks_the_same_in_every_chart() -> None:
    lag = asked("purge_lag_series", *three_configurations(), points=2000)
    figures = [
        ib.purge_lag_chart(one(lag, step="l.i1")),
        ib.purge_lag_chart(one(lag, step="l.i1", dbms="system.cy10ap1")),
        ib.get_min_chart(asked("get_min", *three_configurations())),
    ]
    for figure in figures:
        (trace,) = traces(figure, "system.cy10ap1")
        assert (trace.line.color or trace.marker.color) == series(1)[0]
    assert len({series(position) for position in range(32)}) == 32


@pytest.mark.slow
@pytest.mark.parametrize("points", [7, 100])
def test_no_trace_has_more_points_than_asked_and_all_are_svg(points: int) -> None:
    runs = [Run(l_i1_s=130)]
    seconds = asked("one_second", *runs, points=points)
    lag = asked("purge_lag_series", *runs, points=points)
    inserts = one(seconds, step="l.i1", operation="insert")
    lagging = one(lag, step="l.i1")
    for figure in (ib.rate_chart(inserts), ib.max_response_chart(inserts), ib.purge_lag_chart(lagging)):
        assert {trace.type for trace in figure.data} == {"scatter"}
        assert 1 < max(len(trace.x) for trace in figure.data) <= points


@pytest.mark.parametrize("status", ["failed", "interrupted"])
def test_a_failed_step_or_run_says_so_at_its_name(status: Status) -> None:
    failed = Run("x", minute=1, status=status, failed_step="l.i1", steps=("l.i0", "l.x", "l.i1"))
    frame = asked("one_second", Run(), failed, points=2000)
    for step, name in (("l.i1", f"system.x (l.i1: {status})"), ("l.i0", f"system.x (run: {status})")):
        figure = ib.rate_chart(one(frame, step=step, operation="insert"))
        assert [note.text for note in figure.layout.annotations] == ["system.cy10a", name]
        lag = asked("purge_lag_series", Run(), failed, points=2000)
        assert [trace.name for trace in ib.purge_lag_chart(one(lag, step=step)).data] == ["system.cy10a", name]


def test_each_dip_has_a_band_and_the_costliest_of_neighbours_its_name() -> None:
    assert [(band["x0"], band["x1"]) for band in dip_bands(DIPS)] == [(10, 12), (14, 15), (60, 61)]
    assert [(label["text"], label["x"]) for label in dip_labels(DIPS, 100.0)] == [("redo", 14.5), ("unexplained", 60.5)]
    assert len(dip_labels(DIPS, 100.0, 0.01)) == 3


@pytest.mark.slow
def test_bands_are_in_the_panel_of_their_run() -> None:
    runs = (Run("even", l_i1_s=20), CASES["free_pages"][0])
    seconds, dips = (asked(name, *runs, steps=["l.i1"]) for name in ("one_second", "dips"))
    figure = ib.rate_chart(seconds, dips=dips)
    (band,) = figure.layout.shapes
    assert (band.x0, band.x1) == (9, 12)
    (said,) = [note for note in figure.layout.annotations if note.text == "free pages"]
    (slow,) = [trace for trace in figure.data if trace.name == "all clients, system.slow"]
    assert (band.xref, band.yref) == (slow.xaxis, f"{slow.yaxis} domain") == (said.xref, said.yref)
    assert not ib.rate_chart(seconds).layout.shapes


def test_a_drawing_is_what_plotly_would_make_of_its_figure() -> None:
    seconds = one(asked("one_second", *three_configurations(), points=7), step="l.i1", operation="insert")
    lag = one(asked("purge_lag_series", *three_configurations(), points=7), step="l.i1")
    for function, frame in ((ib.rate_chart, seconds), (ib.max_response_chart, seconds), (ib.purge_lag_chart, lag)):
        drawing = drawing_of(function)(frame)
        assert json.loads(json.dumps(vars(drawing), allow_nan=False)) == json.loads(function(frame).to_json())
    assert drawing_of(one) is one
    assert inspect.signature(ib.purge_lag_end_chart).return_annotation == "go.Figure"


def test_plotly_finds_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="modes"):
        Drawing([{"type": "scatter", "y": [1], "modes": "lines"}], {}).figure()


def test_a_line_has_numbers_of_four_digits_that_are_short_as_text() -> None:
    values = pl.Series([None, 0.0, 12_345.678, 1_234.5678, -98_765.4, 0.00012, 0.123_47, 3.0, float("nan"), 0.7])
    assert json.dumps(plotted(values, 4)) == "[null, 0, 12350, 1235, -98770, 0.0001, 0.1235, 3, null, 0.7]"
    assert plotted(pl.Series([None, None], dtype=pl.Float64), 1) == [None, None]
    assert plotted(pl.Series([3, 123_456]), 0) == [3, 123_500]
