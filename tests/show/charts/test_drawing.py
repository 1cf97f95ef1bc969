"""What holds for charts of every kind."""

import plotly.graph_objects as go
import pytest

import ibench_lib as ib
from ibench_lib.lake.manifest import Status
from ibench_lib.show.theme import series
from tests.shared import asked
from tests.show.charts.traces import one, traces
from tests.synthetic import Run, three_configurations


def test_a_dbms_looks_the_same_in_every_chart() -> None:
    lag = asked("purge_lag_series", *three_configurations(), points=2000)
    figures = [
        ib.purge_lag_chart(one(lag, step="l.i1")),
        ib.purge_lag_chart(one(lag, step="l.i1", dbms="system.cy10ap1")),
        ib.get_min_chart(asked("get_min", *three_configurations())),
    ]
    for figure in figures:
        (trace,) = traces(figure, "system.cy10ap1")
        assert trace.line.color == series(1)[0]
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
        go.Figure(figure.to_dict())  # raises where plotly does not know what is in it
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
