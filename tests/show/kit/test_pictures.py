"""Charts that need no zoom as pictures."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
import pytest

from ibench_lib.show.kit.chart_text import ASIDE
from ibench_lib.show.kit.look import look
from ibench_lib.show.kit.pictures import MOST_POINTS, number, picture_of
from ibench_lib.show.kit.theme import series


def drawn(figure: go.Figure, **layout: Any) -> str | None:
    made = go.Figure(figure).update_layout(look("Title", x="seconds", y="inserts/s", zero=True)).update_layout(**layout)
    return picture_of(json.loads(made.to_json()))


def line(name: str, ys: list[float | None], position: int = 0, **more: Any) -> dict[str, Any]:
    colour, dash = series(position)
    return {
        "type": "scatter", "x": list(range(len(ys))), "y": ys, "name": name, "mode": "lines",
        "line": {"color": colour, "dash": dash}, **more,
    }  # fmt: skip


def paths(markup: str) -> list[str]:
    return re.findall(r'<path d="([^"]+)"', markup)


def test_lines_of_many_results_have_a_panel_each_on_the_same_axes() -> None:
    lines = [line(f"r{n} r{run}", [100, 200 * n], n - 1) for n in range(1, 5) for run in (1, 2)]
    markup = drawn(go.Figure(lines)) or ""
    assert re.findall(r'class="name">([^<]*)<', markup) == ["r1", "r2", "r3", "r4"]
    tops = [float(path.rpartition(" ")[2]) for path in paths(markup)]
    assert tops[0] == tops[1] > tops[2] > tops[-1], "a larger value is higher in every panel"
    assert "All panels have the same axes." in markup and "Upwards: inserts/s." in markup


def test_few_results_share_a_panel_with_their_names_above_it() -> None:
    markup = drawn(go.Figure([line("<a>", [1, None, 3, 4]), line("b", [2, 2, 2, 2], 1)])) or ""
    assert markup.count('class="panel"') == 1 and markup.count('class="swatch"') == 2 and "&lt;a&gt;" in markup
    first = paths(markup)[0]
    assert first.count("M") == 2, "a missing value is a gap"
    assert "var(--line-1," in markup, "a dark screen has a colour of its own"


def test_a_crosshair_reads_the_lines_of_each_panel_but_not_its_bands() -> None:
    bounds = [line(name, [0, 9], meta=ASIDE) for name in ("min", "max")]
    lines = [*bounds, line("a", [1, None, 3]), line("b", [2, 2, 2], 1, hovertemplate="b &lt;r2>: %{y}<extra></extra>")]
    meta = {"title": "Title", "time": "l.i1, cached", "what": "inserts/s", "lasts_s": 1.0}
    markup = drawn(go.Figure(lines), meta=meta) or ""
    (read,) = re.findall(r'data-from="0" data-to="2" data-lines="([^"]*)"', markup)
    assert json.loads(html.unescape(read)) == [
        ["inserts/s", "a", [[0.5, 1], [2.5, 3]]],
        ["inserts/s", "b <r2>", [[0.5, 2], [1.5, 2], [2.5, 2]]],
    ]
    assert "data-lines" not in (drawn(go.Figure(lines)) or ""), "not every axis has seconds"


def test_hovering_names_the_run_and_the_units() -> None:
    run = line("a", [1, 2], mode="lines+markers", hovertemplate="a r2: %{y}<extra></extra>")
    titles = re.findall(r"<title>([^<]*)</title>", drawn(go.Figure([run])) or "")
    assert titles == ["a r2, inserts/s", "a r2: 1 inserts/s, 0 seconds", "a r2: 2 inserts/s, 1 seconds"]
    bars = go.Figure([go.Bar(x=["l.x"], y=[10], name=name) for name in ("a", "b")])
    titles = re.findall(r'<tr title="([^"]*)">', drawn(bars) or "")
    assert titles == ["a: 10 inserts/s", "b: 10 inserts/s"]


def test_texts_at_points_do_not_lie_on_each_other() -> None:
    more = {"mode": "lines+markers+text", "text": ["x", "y"]}
    markup = drawn(go.Figure([line(f"a r{run}", [1, 50 + run], **more) for run in (1, 2)])) or ""
    assert [markup.count(f">{text}</text>") for text in "xy"] == [1, 1] and markup.count("<circle") == 4
    far = drawn(go.Figure([line(f"a r{run}", [1, 50 * run], **more) for run in (1, 2)])) or ""
    assert [far.count(f">{text}</text>") for text in "xy"] == [1, 2]


def test_what_needs_zoom_is_no_picture() -> None:
    assert drawn(go.Figure([line("a", [1.0] * (MOST_POINTS + 1))])) is None
    assert drawn(go.Figure([line("a", [1.0, 2.0])])) is not None
    assert drawn(go.Figure([line("a", [1.0, 2.0], yaxis="y2")]), yaxis2={"overlaying": "y"}) is None
    assert drawn(go.Figure([line("a", [1.0, 2.0])]), shapes=[{"type": "rect", "x0": 0, "x1": 1}]) is None
    assert drawn(go.Figure(go.Heatmap(z=[[1, 2]]))) is None
    assert picture_of({"data": [line("a", [1.0, 2.0])], "layout": {}}) is None, "a figure of somebody's own"
    empty = drawn(go.Figure(), annotations=[{"text": "nothing &lt;here&gt;"}])
    assert empty == '<p class="key">nothing &lt;here&gt;</p><p class="key">seconds</p>'


def test_bars_are_rows_below_their_category_with_their_values() -> None:
    figure = go.Figure()
    for place, (name, values) in enumerate((("a", [10, 40]), ("b", [20, None]))):
        figure.add_bar(x=["l.x", "l.i1"], y=values, name=name, marker={"color": series(place)[0]})
    markup = drawn(figure, xaxis={"categoryarray": ["l.x", "l.i1"]}) or ""
    heads = re.findall(r'<th scope="row(?:group)?"[^>]*>([^<]*)<', markup)
    assert heads == ["l.x", "a", "b", "l.i1", "a"], "what has no value has no row"
    assert re.findall(r'<rect [^>]*width="([^"]+)"', markup) == ["25.00%", "50.00%", "100.00%"]
    assert re.findall(r'class="figure">([^<]*)<', markup) == ["10", "20", "40"]
    figure.data[0].y = [10, 80]
    assert re.findall(r'<rect [^>]*width="([^"]+)"', drawn(figure) or "")[1] == "25.00%"


def test_dots_of_a_metric_stand_on_a_logarithmic_axis_with_their_verdict() -> None:
    dot = {"color": series(0)[0], "symbol": "circle-open", "size": 9}
    figure = go.Figure(
        go.Scatter(
            x=[0.5, 2.0], y=["p50", "p99"], text=["half", "twice"], name="unclear", mode="markers", marker=dot,
            error_x={"array": [0.5, 2.0], "arrayminus": [0.25, 1.0]},
        )
    )  # fmt: skip
    axes = {"yaxis": {"type": "category", "categoryarray": ["p99", "p50"]}, "xaxis": {"type": "log"}}
    markup = drawn(figure, **axes) or ""
    assert re.findall(r'<th scope="row">([^<]*)<', markup) == ["p50", "p99"] and 'title="twice"' in markup
    half, twice = (float(x) for x in re.findall(r'<circle cx="([\d.]+)%"', markup))
    assert half + twice == pytest.approx(100, abs=0.1) and markup.count('class="interval"') == 2
    assert "2 unclear" in markup and 'fill="var(--paper,' in markup


def test_a_heat_map_of_texts_is_a_table_whose_colours_grow_with_the_ratio() -> None:
    figure = go.Figure(
        go.Heatmap(
            x=["a", "b"], y=["points:", "scan"], z=[[None, None], [-1.0, 0.5]], text=[[], ["0.5", "1.4"]],
            hovertext=[[], ["a: half", "b: more"]], coloraxis="coloraxis",
        )
    )  # fmt: skip
    stops = [series(place)[0] for place in range(5)]
    scale = {"cmin": -1, "cmax": 1, "colorscale": [[place / 4, colour] for place, colour in enumerate(stops)]}
    labels = {"tickvals": ["points:", "scan"], "ticktext": ["<b>points</b>", "&lt;scan&gt;"]}
    markup = drawn(figure, coloraxis=scale, yaxis=labels) or ""
    assert re.findall(r"<th [^>]*>([^<]*)<", markup) == ["a", "b", "points", "&lt;scan&gt;"]
    assert re.findall(r"(line-\d),\S* (\d+)%", markup) == [("line-2", "100"), ("line-4", "50")]
    assert re.findall(r'title="([^"]*)"', markup) == ["a: half", "b: more"]


@pytest.mark.parametrize(
    ("value", "text"), [(0.01234, "0.0123"), (0, "0"), (999, "999"), (1200, "1.2k"), (34_000, "34k"), (1.5e6, "1.5M")]
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text
