"""The chart of throughput over an axis."""

import pytest

import ibench_lib as ib
from tests.shared import asked
from tests.show.swept import of_step, swept

pytestmark = pytest.mark.lake


def test_a_chart_has_a_line_for_each_dbms_on_an_axis_of_powers_of_two() -> None:
    figure = ib.sweep_chart(of_step(asked("sweep", *swept(), *swept("other", _4=5))))
    base, other = figure.data
    assert (base.name, list(base.x)) == ("system.base", [1.0, 2.0, 4.0])
    assert list(base.y) == pytest.approx([2500, 5000, 4545.45])
    assert list(other.y) == pytest.approx([2500, 5000, 10000])
    assert base.error_y.visible and all(part > 0 for part in base.error_y.array)
    assert figure.layout.xaxis.type == "log"
    assert list(figure.layout.xaxis.ticktext) == ["1", "2", "4"]
    assert figure.layout.meta["title"] == "l.i1, inserts/s over clients, small"


def test_single_runs_have_no_bars() -> None:
    frame = of_step(asked("sweep", *(run for run in swept() if run.repeat == 1)))
    assert not ib.sweep_chart(frame).data[0].error_y.visible
