"""Charts of single seconds."""

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.show.charts.one_second import _visible
from tests.shared import asked
from tests.show.charts.traces import one, repeated, traces
from tests.synthetic import Run, three_configurations


def test_one_second_panels_share_both_axes() -> None:
    frame = asked("one_second", *three_configurations(), points=2000)
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


def test_panels_of_repeats_stand_beside_each_other() -> None:
    frame = one(asked("one_second", *repeated(), points=2000), step="l.i1", operation="insert")
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


def test_a_step_that_nobody_took_a_second_for_has_no_panels() -> None:
    failed = Run("x", minute=1, status="failed", failed_step="l.i1", steps=("l.i0", "l.x", "l.i1"))
    frame = one(asked("one_second", Run(), failed, points=2000), step="l.i1", operation="insert")
    short = frame.with_columns(rate_mean=pl.lit(None, pl.Float64))
    for figure in (ib.rate_chart(short), ib.max_response_chart(short)):
        assert not figure.data
        (note,) = figure.layout.annotations
        assert note.text == "no run has a full second of this step; system.x (l.i1: failed)"


@pytest.mark.parametrize(("most", "decimals"), [(23_456.7, 0), (1_000.0, 0), (999.9, 1), (12.3, 2), (0.5, 3), (0.0, 3)])
def test_values_have_the_digits_that_can_be_seen(most: float, decimals: int) -> None:
    assert _visible(pl.Series([0.0, most, None]), 3) == decimals
