"""Charts as blocks of a page: points that are evenly spaced, and charts that are made ahead."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output

from ibench_lib.publish import charts
from ibench_lib.publish.charts import ChartBlocks, chart_block
from ibench_lib.show.kit.chart_text import CHART_MIME, PLOTLY_MIME


def drawn(layout: Any = None, **trace: Any) -> dict[str, Any]:
    figure = {
        "data": [{"type": "scatter", "y": [1, None, 3, 4], **trace}],
        "layout": {"meta": {"title": "Rates"}, "xaxis9": {}, **(layout or {})},  # with several axes, drawn by plotly
    }
    (text,) = re.findall(r'<script type="application/gzip">([^<]*)<', chart_block(figure).markup("chart.x"))
    (found,) = json.loads(gzip.decompress(base64.b64decode(text)))["data"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("x", [[0, 2, 4, 6], [0.5, 1.5, 2.5, 3.5], [0.1, 0.2, 0.3, 0.4]])
def test_evenly_spaced_points_are_a_first_one_and_a_distance(x: list[float]) -> None:
    line = drawn(x=x)
    assert "x" not in line and line["y"] == [1, None, 3, 4]
    assert [line["x0"] + number * line["dx"] for number in range(4)] == pytest.approx(x)


@pytest.mark.parametrize(
    "x", [[0, 1, 2, 4], [0, 1], ["a", "b", "c", "d"], [0, 1, None, 3], {"bdata": "AA==", "dtype": "i1"}]
)
def test_other_points_stay_as_they_are(x: Any) -> None:
    assert drawn(x=x)["x"] == x


def test_points_on_another_axis_than_a_linear_one_and_bars_keep_their_x() -> None:
    x = [1, 2, 3, 4]
    for kind in ("log", "category"):
        assert drawn({"xaxis": {"type": kind}}, x=x)["x"] == x
        assert drawn({"xaxis2": {"type": kind}}, x=x, xaxis="x2")["x"] == x
    assert drawn(x=x, type="bar", orientation="h")["x"] == x
    assert "x" not in drawn({"xaxis": {"type": "linear"}, "xaxis2": {"type": "log"}}, x=x)


def test_a_figure_of_ones_own_has_its_title_as_caption_and_no_second_one() -> None:
    own = {"data": [{"type": "scatter", "y": [1, 2]}], "layout": {"title": {"text": "Mine <i>&amp; yours</i>"}}}
    page = chart_block(own).markup("chart.mine")
    assert "<figcaption>Mine &amp; yours</figcaption>" in page and 'id="chart.mine"' in page
    (text,) = re.findall(r'<script type="application/gzip">([^<]*)<', page)
    layout = json.loads(gzip.decompress(base64.b64decode(text)))["layout"]
    assert "title" not in layout and layout["template"]["layout"]["plot_bgcolor"] == "white"


def cell_with(*figures: dict[str, Any], mime: str = PLOTLY_MIME) -> NotebookNode:
    """A cell that has printed something and then shown these charts."""
    outputs = [new_output("display_data", data={mime: figure}) for figure in figures]  # type: ignore[no-untyped-call]
    outputs.insert(0, new_output("stream", text="no chart"))  # type: ignore[no-untyped-call]
    cell: NotebookNode = new_code_cell("x", outputs=outputs)  # type: ignore[no-untyped-call]
    return cell


@pytest.mark.parametrize("mime", [PLOTLY_MIME, CHART_MIME])
def test_a_chart_that_was_made_ahead_is_not_made_again(monkeypatch: pytest.MonkeyPatch, mime: str) -> None:
    made = list[Any]()

    def counting(figure: dict[str, Any]) -> charts.ChartBlock:
        made.append(figure)
        return chart_block(figure)

    monkeypatch.setattr(charts, "chart_block", counting)
    same = {"data": [{"type": "scatter", "y": [1, 2]}], "layout": {"meta": {"title": "Rates"}}}
    cell, blocks = cell_with(same, dict(same), mime=mime), ChartBlocks()
    blocks.ahead(cell)
    figures = [charts.figure_in(output) for output in cell.outputs]
    assert figures[0] is None and len(made) == 2
    assert [blocks.of(figure) for figure in figures if figure] == [chart_block(same)] * 2
    assert len(made) == 2
    blocks.of(dict(same))
    assert len(made) == 3, "an equal figure is another one, which may have been changed since"


def test_a_chart_that_cannot_be_made_is_left_to_whoever_writes_the_page() -> None:
    wrong: dict[str, Any] = {"data": [{"type": "scatter", "y": [float("nan")]}], "layout": {"meta": {"title": "Rates"}}}
    right = {"data": [{"type": "scatter", "y": [1.0]}], "layout": {"meta": {"title": "Rates"}}}
    cell, blocks = cell_with(wrong, right), ChartBlocks()
    blocks.ahead(cell)
    assert blocks.of(charts.figure_in(cell.outputs[2]) or {}).title == "Rates"
    with pytest.raises(ValueError, match="JSON"):
        blocks.of(charts.figure_in(cell.outputs[1]) or {})
