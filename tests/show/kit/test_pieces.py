"""HTML as pieces: an output has what a page needs as data, and its markup once."""

from __future__ import annotations

import json

from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.show.kit.pieces import FLAME_GRAPH, HTML_MIME, TLDR, Html, SavedFile, Sentence, html_of, named
from ibench_lib.show.kit.strips import StripRow, strip

FAR = StripRow("far", Ratio(0.002, 0.0019, 0.0021, 3, p=0.001))


def test_an_output_gives_its_pieces_back() -> None:
    parts = Html(Sentence("a < b.", ' <a href="#x">x</a>', "loud"), "</ul>", SavedFile("f, 1 kB", "<a>Save</a>"))
    shown = Html("<ul>", parts, TLDR, FLAME_GRAPH, strip("<s>", [FAR], 16.0), headline=True)
    bundle = shown.bundle
    assert html_of(json.loads(json.dumps(bundle))) == shown
    assert bundle["text/html"].startswith('<ul><li class="loud">a &lt; b. <a href="#x">x</a></li></ul><a>Save</a><fig')
    assert "Save</a>" not in json.dumps(bundle[HTML_MIME]), "an embedded file is long"


def test_markup_alone_needs_no_description() -> None:
    assert Html("<p>", "x</p>").bundle == {"text/html": "<p>x</p>"}
    assert html_of({"text/html": "<li>of another library</li>"}).pieces == ("<li>of another library</li>",)
    assert not Html() and not Html("", Html()) and Html(TLDR)


def test_of_a_name_in_words_the_code_is_quiet() -> None:
    assert named("<load>, rows/s") == "&lt;load&gt;, rows/s"
    assert named("1x, 4 requesters · t4, ops/s") == '1x, 4 requesters<span class="code"> t4</span>, ops/s'
    assert named("lag 100 … · a13") == 'lag 100 …<span class="code"> a13</span>'
