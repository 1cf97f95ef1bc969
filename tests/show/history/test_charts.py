"""The chart of rates from release to release."""

from __future__ import annotations

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.analysis.history import history_of
from ibench_lib.show.kit.chart_text import describe
from tests.show.released import builds_of, noisy, points_of, six
from tests.show.traces import traces


def test_each_step_is_a_line_with_intervals_and_marked_changes() -> None:
    points = pl.concat([six(), six(1.0, "qr100", "qps")])
    figure = ib.release_chart(points_in(points), history_of(points, builds_of(points)))
    (load,) = traces(figure, "l.i0")
    assert list(load.x) == ["b5.7.44", "b8.0.28", "b8.0.29", "b8.0.30", "b8.0.31", "b9.1.0"]
    assert list(load.y) == pytest.approx([1, 0.996, 0.996, 0.796, 0.799, 0.798], abs=0.001)
    assert load.error_y.array[0] == 0 and load.error_y.array[3] == pytest.approx(0.0135, abs=0.002)
    assert list(load.marker.symbol) == [*["circle"] * 3, "triangle-down", "circle", "circle"]
    assert load.text[3] == "b8.0.30: 0.80 [0.78, 0.81], a lasting change"
    (queries,) = traces(figure, "qr100")
    assert set(queries.marker.symbol) == {"circle"}
    assert figure.layout.meta["title"] == "Rates relative to b5.7.44: mysql, cached"


def test_in_the_order_of_dates_each_release_line_is_a_line_relative_to_the_oldest_of_all() -> None:
    levels = {"b8.0.34": 1010, "b5.7.44": 900, "b5.7.40": 1200, "b8.0.28": 990}
    points = points_of({name: noisy(level, seed=seed) for seed, (name, level) in enumerate(levels.items())})
    history = history_of(points, builds_of(points), "date")
    figure = ib.release_chart(history.points, history)
    old, new = figure.data
    assert (old.name, new.name) == ("l.i0, 5.7", "l.i0, 8.0")
    assert list(old.x) == ["b5.7.40<br>2022-08-29 (tagged)", "b5.7.44<br>2023-10-25"]
    assert list(new.x) == ["b8.0.28<br>2022-01-18", "b8.0.34<br>2023-07-18"]
    assert list(figure.layout.xaxis.categoryarray) == [new.x[0], old.x[0], new.x[1], old.x[1]]
    assert new.y[0] == 1 and old.y[0] == pytest.approx(1.21, abs=0.03)
    assert old.line.color == new.line.color and old.line.dash != new.line.dash
    assert figure.layout.meta["title"] == "Rates relative to b8.0.28: mysql, cached"
    assert list(old.marker.symbol) == ["circle", "triangle-down-open"]


def points_in(points: pl.DataFrame) -> pl.DataFrame:
    return history_of(points, builds_of(points)).points


def test_what_may_not_last_is_marked_open() -> None:
    points = points_of({"b5.6.24": noisy(1000), "b9.7": noisy(1300, seed=3)})
    (load,) = ib.release_chart(points_in(points), history_of(points, builds_of(points))).data
    assert list(load.marker.symbol) == ["circle", "triangle-up-open"]
    assert load.text[1].endswith(", differs")


def test_a_missing_release_is_left_out_and_a_missing_base_leaves_nothing() -> None:
    gone = six().with_columns(value=pl.when(pl.col("build") == "b8.0.29").then(None).otherwise("value"))
    (load,) = ib.release_chart(points_in(gone), history_of(gone, builds_of(gone))).data
    assert "b8.0.29" not in load.x and len(load.x) == 5
    base = six().with_columns(value=pl.when(pl.col("build") == "b5.7.44").then(None).otherwise("value"))
    figure = ib.release_chart(points_in(base), history_of(base, builds_of(base)))
    assert not figure.data
    assert describe(figure.to_plotly_json()) == "Empty chart: no step was measured with the oldest release."


def test_noise_of_a_percent_does_not_fill_the_chart() -> None:
    quiet = six(1.0)
    figure = ib.release_chart(points_in(quiet), history_of(quiet, builds_of(quiet)))
    assert list(figure.layout.yaxis.range) == [0.9, 1.1]
    low, high = ib.release_chart(points_in(six(3.0)), history_of(six(3.0), builds_of(six(3.0)))).layout.yaxis.range
    assert low == 0.9 and high > 3


def test_an_interval_that_knows_nothing_is_cut() -> None:
    wild = points_of({"b8.0.1": [10.0, 1000.0], "b8.0.2": [1000.0, 12.0], "b8.0.3": [10.0, 900.0]})
    figure = ib.release_chart(points_in(wild), history_of(wild, builds_of(wild)))
    low, high = figure.layout.yaxis.range
    assert 0.3 < low < 1 < high < 2.5
