"""HTML as pieces: an output has what a page needs as data, and its markup once."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.show.kit.pieces import (
    FLAME_GRAPH,
    HTML_MIME,
    TLDR,
    Band,
    Html,
    OnTime,
    RateOverTime,
    SavedFile,
    Sentence,
    Word,
    html_of,
    named,
)
from ibench_lib.show.kit.strips import StripRow, strip

FAR = StripRow("far", Ratio(0.002, 0.0019, 0.0021, 3, p=0.001))


def test_an_output_gives_its_pieces_back() -> None:
    parts = Html(Sentence("a < b.", ' <a href="#x">x</a>', "loud"), "</ul>", SavedFile("f, 1 kB", "<a>Save</a>"))
    shown = Html("<ul>", parts, TLDR, FLAME_GRAPH, strip("<s>", [FAR], 16.0), headline=True)
    bundle = shown.bundle
    assert html_of(json.loads(json.dumps(bundle))) == shown
    assert bundle["text/html"].startswith('<ul><li class="loud">a &lt; b. <a href="#x">x</a></li></ul><a>Save</a><fig')
    assert "Save</a>" not in json.dumps(bundle[HTML_MIME]), "an embedded file is long"


def test_a_picture_over_time_comes_back_with_what_a_crosshair_reads() -> None:
    time = OnTime("l.i1, <small>", 0.0, 20.0, (("inserts/s", "a < b", ((0.5, 10.0), (1.5, 12.0))),))
    words = (Word(42, 20, "12", "to"), Word(46, 100, "0 s", "from"), Word(146, 100, "20 s", "to"))
    band = Band(96, 16, 50, 74, "10 to 20 s: <purge>")
    picture = RateOverTime(
        "Rate <1>", "median 11", (146, 106), ((46, 50), (146, 20)), "line-1", (band,), "bad", ((46, 146, 90, False),),
        words, 46, time,
    )  # fmt: skip
    assert html_of(json.loads(json.dumps(Html(picture, headline=True).bundle))) == Html(picture, headline=True)
    figure = ElementTree.fromstring(picture.markup)
    assert figure.attrib["data-time"] == "l.i1, <small>"
    plot = figure.find("div/div")
    assert plot is not None and json.loads(plot.attrib["data-lines"]) == [
        ["inserts/s", "a < b", [[0.5, 10.0], [1.5, 12.0]]]
    ]
    (rect,) = figure.iter("rect")
    assert (rect.attrib["x"], rect.attrib["width"]) == ("50.00%", "50.00%")
    assert [text.attrib["x"] for text in figure.iter("text")] == ["-4", "0.00%", "100.00%"]
    still = replace(picture, time=None)
    assert "data-" not in still.markup and html_of(Html(still).bundle) == Html(still)


def test_markup_alone_needs_no_description() -> None:
    assert Html("<p>", "x</p>").bundle == {"text/html": "<p>x</p>"}
    assert html_of({"text/html": "<li>of another library</li>"}).pieces == ("<li>of another library</li>",)
    assert not Html() and not Html("", Html()) and Html(TLDR)


def test_of_a_name_in_words_the_code_is_quiet() -> None:
    assert named("<load>, rows/s") == "&lt;load&gt;, rows/s"
    assert named("1x, 4 requesters · t4, ops/s", end=",") == '1x, 4 requesters<span class="code"> t4</span>, ops/s'
    assert named("a13 · lag 100, threads 8") == 'a13<span class="code"> lag 100, threads 8</span>'
