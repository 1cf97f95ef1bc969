"""Charts in words: the numbers that a reader would see, and none that nobody could."""

import base64
import struct
from typing import Any

import plotly.graph_objects as go
import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.show.kit.chart_text import UNIT, describe
from tests.ask.pairs import pair_of
from tests.shared import lake_of
from tests.synthetic import Run, three_configurations

pytestmark = pytest.mark.lake


def words_of(figure: go.Figure) -> str:
    told: dict[str, Any] = figure.to_plotly_json()
    return describe(told)


def test_a_chart_in_words_takes_plotly_s_packed_numbers_and_says_how_much_it_leaves_out() -> None:
    packed = {"dtype": "f8", "bdata": base64.b64encode(struct.pack("<3d", 1.5, float("nan"), 250)).decode()}
    traces: list[dict[str, Any]] = [{"type": "scatter", "name": "a &lt;b&gt;", "y": packed}]
    traces += [{"type": "bar", "name": f"n{number}", "y": [number, None]} for number in range(14)]
    traces.append({"name": "band", "meta": "aside", "y": [1e9]})
    words = describe({"data": traces, "layout": {"yaxis": {"title": {"text": "rows/s"}}}})
    assert words.startswith(
        "Line and bar chart. Vertically: rows/s. a <b>: 2 points, from 1.5 to 250. n0: 1 point, 0. n1"
    )
    assert words.endswith("And 3 more.")
    assert "band" not in words
    assert describe({}) == "Empty chart."


@pytest.mark.long
@pytest.mark.slow
def test_where_names_lie_on_the_vertical_axis_the_numbers_of_the_other_one_are_told() -> None:
    pair = pair_of(*three_configurations())
    words = words_of(ib.ratio_chart(pair.metrics().filter(step="qr100"), pair.base, pair.other))
    found = pair.metrics().filter(step="qr100", metric="get_min_s").sort("dbms_position")["value"]
    assert found[1] / found[0] == 250
    assert words == "Line chart. Horizontally: B / A. one run, noise unknown: 9 points, from 0.5 to 250."


def test_a_chart_without_lines_says_what_stands_in_their_place() -> None:
    pair = pair_of(*three_configurations())
    nothing = pair.metrics().filter(step="qr100").with_columns(value=pl.lit(None, pl.Float64))
    words = words_of(ib.ratio_chart(nothing, pair.base, pair.other))
    assert words == "Empty chart: no ratio: a side has no value."
    assert describe({"layout": {"annotations": [{"text": "&lt;b&gt;"}, {"text": "c"}]}}) == "Empty chart: <b>; c."


def test_a_heat_map_is_told_by_the_values_behind_its_colours() -> None:
    post = ib.choose(lake_of(Run(), Run("x", minute=1, l_i1_s=20)), "demo", steps=["l.i1"])
    frame = post.ask("response_percentiles_over_time").filter(operation="insert", timing="service")
    known = frame.filter(dbms="system.cy10a")["p50_s"].drop_nulls() * 1e3
    assert known.min() == known.max() and len(known) == 10
    words = words_of(ib.response_heat_chart(frame))
    assert words.startswith("Heat map chart. Horizontally: seconds of the step. ")
    assert f"p50, system.cy10a: 10 points, {known[0]:.3g} ms. p50, system.x: 20 points" in words
    assert words.count("largest, ") == 2


def test_of_a_heat_map_whose_colours_stand_for_what_is_not_told_only_the_rows_are() -> None:
    trace = {"type": "heatmap", "z": [[-1.0, None], [2.0, 1.0]], "y": [1, 2, 4]}
    assert describe({"data": [trace]}) == "Heat map chart. 2 rows, shown by colour only."
    named = {**trace, "name": "shares", "customdata": [[1, 2], [3, 4]]}
    assert describe({"data": [named]}) == "Heat map chart. shares: 2 rows, shown by colour only."


def test_a_row_of_a_heat_map_without_cells_is_a_heading() -> None:
    trace = {
        "type": "heatmap", "name": "ratio", "z": [[None], [1.0], [None]], "y": ["points:", "a", "b"],
        "customdata": [[], [2.0], [None]], "meta": {UNIT: "times the base"},
    }  # fmt: skip
    assert describe({"data": [trace]}) == "Heat map chart. ratio, a: 1 point, 2 times the base. ratio, b: no value."
