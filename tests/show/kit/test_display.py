"""What is put into a notebook next to tables and charts."""

import json
import re
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl
import pytest
from nbformat.v4 import new_output

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.publish.blocks import Blocks
from ibench_lib.show.kit.chart_text import CHART_MIME, PLOTLY_MIME
from ibench_lib.show.kit.display import MOST_OPEN, Html, _bundle, each, say, sources, warnings
from ibench_lib.show.kit.look import look
from ibench_lib.show.kit.pictures import picture_of
from ibench_lib.show.kit.statements import asks, attention
from tests.shared import asked, lake_of
from tests.synthetic import Run, three_configurations

pytestmark = pytest.mark.lake


def test_warnings_that_differ_in_numbers_share_a_line_that_unfolds() -> None:
    busy = [f"process python ({pid}) uses {percent} % of a core" for pid, percent in ((30467, 20), (30468, 33))]
    runs = [
        Run(warnings=(busy[0], "swap <is> used")), Run("b", minute=1, warnings=(busy[1],)), Run("c", minute=2),
    ]  # fmt: skip
    markup = warnings(choose(lake_of(*runs), "demo").runs).markup
    assert f"<summary>{busy[0]}, and 1 more of this kind (system.cy10a, system.b; 2 of 3 runs)</summary>" in markup
    assert f"<li>{busy[1]} (system.b)</li>" in markup and markup.count("<details>") == 1
    assert "<li>swap &lt;is&gt; used (system.cy10a; 1 of 3 runs)</li>" in markup
    assert "No run has a warning." in warnings(choose(lake_of(Run()), "demo").runs).markup


def test_links_of_one_sentence_to_several_queries_differ_in_their_text() -> None:
    assert re.findall(r">([^<]+)</a>", sources("steps")) == ["query"]
    markup = sources("steps", "dips", "steps")
    assert re.sub(r"<[^>]*>", "", markup) == " queries 1 2"
    assert re.findall(r'href="#evidence\.(\w+)" aria-label="(\d): the query behind this, (\w+)"', markup) == [
        ("steps", "1", "steps"), ("dips", "2", "dips"),
    ]  # fmt: skip
    assert sources() == ""


@pytest.mark.parametrize("number", [1, 5, 6, 7, 12])
def test_of_many_sentences_the_rest_is_folded_but_none_that_is_loud(number: int) -> None:
    @asks("steps")
    def subject(steps: pl.DataFrame) -> list[str]:
        return [*(f"Sentence {n}." for n in range(number)), attention("this one.")]

    markup = say(choose(lake_of(Run()), "demo"), subject).markup
    shown, _, folded = markup.partition("<details")
    assert "Attention: this one." in shown
    assert [markup.count(f"Sentence {n}.") for n in range(number)] == [1] * number
    left = number - 5 if number > 6 else 0
    assert folded.count("<li>") == left and (f"{left} more sentences" in folded) == bool(left)


@pytest.mark.slow
def test_many_results_fold_below_their_headings_and_few_do_not() -> None:
    few = asked("response_time_histogram", *three_configurations())
    many = pl.concat([few.with_columns(repeat=pl.lit(n, few["repeat"].dtype)) for n in range(MOST_OPEN // 3 + 1)])
    options = {"by": ["step", "setup", "operation"], "heading": "step", "anchor": "histogram", "fold": True}
    texts = {
        name: [item.markup for item in each(frame, ib.response_time_table, **options).items if isinstance(item, Html)]
        for name, frame in (("few", few), ("many", many))
    }
    assert texts["few"][:2] == ['<h3 id="l.i0.histogram">l.i0</h3>', '<h3 id="l.x.histogram">l.x</h3>']
    first, end = texts["many"][:2]
    assert first.startswith('<details class="fold"><summary><h3 id="l.i0.histogram">l.i0</h3>') and "1 table" in first
    assert end == "</details>" and len(texts["many"]) == 2 * len(texts["few"])
    # Few results, but of two setups.
    setups = pl.concat([few, few.with_columns(setup=pl.lit("other"))])
    first = next(
        item.markup for item in each(setups, ib.response_time_table, **options).items if isinstance(item, Html)
    )
    assert first.startswith('<details class="fold"><summary><h3 id="l.i0.histogram">l.i0</h3>') and "2 tables" in first


def test_a_heading_says_in_words_what_a_step_is() -> None:
    shown = ib.draw(choose(lake_of(Run()), "demo"), ib.rate_chart)
    heads = [item.markup for item in shown.items if isinstance(item, Html)]
    words = '<span class="words">Range queries · </span><span class="code">qr100</span>'
    assert f'<h3 id="qr100.one-second">{words}</h3>' in heads


def test_a_notebook_has_a_picture_where_a_page_has_one() -> None:
    layout = look("Rate <1>", x="x", y="y")
    few = go.Figure(go.Scatter(x=[0, 1], y=[1, 2], name="a <b>", mode="lines"), layout)
    many = go.Figure(go.Scatter(x=list(range(900)), y=list(range(900)), name="a", mode="lines"), layout)
    picture, chart = (_bundle(json.loads(figure.to_json())) for figure in (few, many))
    assert picture["text/html"].startswith('<figure class="picture full"><figcaption>Rate &lt;1&gt;</figcaption>')
    drawn = picture_of(picture[CHART_MIME])
    assert drawn and drawn in picture["text/html"] and PLOTLY_MIME not in picture
    assert "<style>" in picture["text/html"] and "text/html" not in chart and PLOTLY_MIME in chart
    page = "".join(Blocks()._output(output) for output in map(_as_output, (picture, chart)))
    assert page.count('<figure class="picture') == page.count('<figure class="chart') == 1 and "<style>" not in page


def test_a_figure_of_ones_own_is_shown_with_its_title() -> None:
    own = json.loads(go.Figure(go.Bar(y=[1, 2]), {"title": {"text": "Mine"}}).to_json())
    shown = _bundle(own)
    assert shown["text/plain"] == "Mine" and "text/html" not in shown
    assert shown[PLOTLY_MIME]["layout"]["title"]["text"] == "Mine"


def _as_output(data: dict[str, Any]) -> Any:
    return new_output("display_data", data=data)  # type: ignore[no-untyped-call]
