"""The look of charts: the same for drawings and for figures, and what it leaves of figures that are not ours."""

import json
from typing import Any

import plotly.express as px
import plotly.graph_objects as go
import polars as pl
import pytest
from plotly.io import templates

from ibench_lib.show.kit import theme
from ibench_lib.show.kit.look import look, themed


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"x": "seconds", "y": "rate", "zero": True},
        {"y": "rate", "width": "half"},
        {"zero": True},
        {"time": "l.i1, cached", "what": "ms"},
    ],
)
def test_plotly_knows_all_of_the_look_and_adds_nothing(options: dict[str, Any]) -> None:
    made = look("a < b", **options)
    assert go.Figure(layout=made).layout.to_plotly_json() == made
    assert made["template"] == templates["plotly"].to_plotly_json()


def test_a_figure_of_ones_own_has_a_caption_and_the_theme() -> None:
    table = pl.DataFrame({"x": [1, 2, 1, 2], "y": [1, 2, 3, 4], "of": ["a", "a", "b", "b"]})
    made = themed(json.loads(px.line(table, x="x", y="y", color="of", title="Rates <b>&lt;1&gt;</b>").to_json()))
    assert made["layout"]["meta"] == {"title": "Rates <1>", "width": "full"}
    assert [trace["line"]["color"] for trace in made["data"]] == [theme.series(n)[0] for n in (0, 1)]
    look_of = made["layout"]["template"]["layout"]
    assert look_of["plot_bgcolor"] == "white" and look_of["font"]["family"] == theme.FONT
    assert go.Figure(made).data[0].name == "a", "plotly knows all of it"


def test_what_the_author_of_a_figure_chose_stays() -> None:
    figure = go.Figure(go.Scatter(y=[1, 2], line={"color": "hotpink"}), {"template": "simple_white"})
    given = json.loads(figure.to_json())
    made = themed(given)
    assert made["data"] == given["data"] and made["layout"]["template"] == given["layout"]["template"]
    assert made["layout"]["meta"]["title"] == "Chart"
    plain = themed(json.loads(go.Figure(go.Bar(y=[1], marker={"color": "hotpink"})).to_json()))
    assert plain["data"][0]["marker"]["color"] == "hotpink"
    title = {"title": {"text": "p99 < 10 ms, <i>load</i> > 100/s"}}
    assert themed({"data": [], "layout": title})["layout"]["meta"]["title"] == "p99 < 10 ms, load > 100/s"
    assert themed({"data": []})["layout"]["meta"]["title"] == "Chart"
