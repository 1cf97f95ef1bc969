"""The chart of get_min."""

import pytest

import ibench_lib as ib
from tests.shared import asked
from tests.show.traces import repeated, traces
from tests.synthetic import Run

pytestmark = pytest.mark.lake


def test_get_min_is_on_a_log_scale_with_every_client() -> None:
    figure = ib.get_min_chart(asked("get_min", Run()))
    assert figure.layout.yaxis.type == "log"
    (worst,) = traces(figure, "system.cy10a")
    assert list(worst.y) == [0.001, 0.001, 0.001, 0.5]
    (each,) = traces(figure, "system.cy10a, each client")
    assert list(each.y) == [0.001, 0.0005, 0.001, 0.0005, 0.001, 0.0005, 0.5, 0.25]


def test_repeats_are_one_line_through_their_medians_and_a_dot_each() -> None:
    figure = ib.get_min_chart(asked("get_min", *repeated()))
    name = "system.cy10a (1 of 3 runs not complete)"
    (line,), (dots,) = traces(figure, name), traces(figure, f"{name}, each run")
    assert (list(line.x), list(line.y)) == (["l.i0", "l.x", "l.i1", "qr100"], [0.001, 0.001, 0.001, 0.75])
    assert sorted(dots.y)[-3:] == [0.5, 0.75, 4.0]
    assert len(traces(figure, "system.other")) == 1
