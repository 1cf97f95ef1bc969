"""Charts of purge lag."""

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.show.kit.theme import inert
from tests.shared import asked
from tests.show.traces import one, repeated, traces
from tests.synthetic import Run, three_configurations

pytestmark = pytest.mark.lake


def test_purge_lag_draws_all_dbms_of_a_step_together() -> None:
    frame = asked("purge_lag_series", *three_configurations(), points=2000)
    figure = ib.purge_lag_chart(one(frame, step="l.i1"))
    assert [trace.name for trace in figure.data] == ["system.cy10a", "system.cy10ap1", "system.cy10ap1lag"]
    (lagging,) = traces(figure, "system.cy10ap1")
    assert list(lagging.y) == [30000.0] * 10
    assert list(lagging.x) == [second + 0.5 for second in range(10)]
    assert figure.layout.meta["title"] == "History list length during l.i1, cached"


def test_a_sample_without_an_answer_is_a_gap_in_the_line() -> None:
    frame = asked("purge_lag_series", Run(), points=2000)
    missing = one(frame, step="l.i1").with_columns(
        hll_mean=pl.when(pl.col("bucket") == 3).then(None).otherwise(pl.col("hll_mean"))
    )
    (trace,) = ib.purge_lag_chart(missing).data
    assert trace.y[3] is None
    assert not trace.connectgaps


def test_history_list_at_step_end_has_one_group_a_step() -> None:
    figure = ib.purge_lag_end_chart(asked("purge_lag_at_step_end", *three_configurations()))
    (bars,) = traces(figure, "system.cy10ap1")
    assert list(bars.x) == ["l.i0", "l.x", "l.i1", "qr100"]
    assert list(bars.y) == [10, 20, 30000, 5]


def test_a_down_sampled_line_has_a_band_from_min_to_max() -> None:
    lag = one(asked("purge_lag_series", Run(l_i1_s=40), points=10), step="l.i1")
    stalled = lag.with_columns(
        hll_min=pl.when(pl.col("bucket") == 4).then(0).otherwise(pl.col("hll_min")),
        hll_max=pl.when(pl.col("bucket") == 4).then(90_000).otherwise(pl.col("hll_max")),
    )
    figure = ib.purge_lag_chart(stalled)
    (low,), (high,) = traces(figure, "min"), traces(figure, "max")
    assert (low.y[4], high.y[4], high.fill) == (0.0, 90_000.0, "tonexty")


def test_bars_of_repeats_are_medians_with_their_range_and_without_what_failed() -> None:
    figure = ib.purge_lag_end_chart(asked("purge_lag_at_step_end", *repeated()))
    (bars,) = traces(figure, "system.cy10a (1 of 3 runs not complete)")
    assert (list(bars.x), list(bars.y)) == (["l.i0", "l.x", "l.i1", "qr100"], [10, 20, 300, 5])
    assert bars.error_y.visible
    assert (list(bars.error_y.array), list(bars.error_y.arrayminus)) == ([0, 0, 600, 0], [0, 0, 200, 0])


def test_a_legend_has_complete_repeats_once_and_others_by_themselves() -> None:
    lag = asked("purge_lag_series", *repeated(), points=2000)
    for step, listed in (
        ("l.i1", ["system.cy10a", "system.cy10a r3 (run: failed)", "system.other"]),
        ("qr100", ["system.cy10a", "system.cy10a r3 (qr100: failed)", "system.other"]),
    ):
        figure = ib.purge_lag_chart(one(lag, step=step))
        assert [trace.name for trace in figure.data if trace.showlegend] == listed
        assert len(figure.data) == 4
    assert "system.cy10a r2" in figure.data[1].hovertemplate


def test_text_is_inert_for_plotly() -> None:
    hostile = "<a href='javascript:x'>%{y}</a><b>"
    frame = asked("purge_lag_series", Run(dbms=hostile, setup="<i>s</i>"), points=2000)
    figure = ib.purge_lag_chart(one(frame, step="l.i1"))
    (trace,) = figure.data
    assert trace.name == inert(hostile)
    for text in (trace.name, figure.layout.title.text):
        assert "<" not in text
        assert "%{" not in text
