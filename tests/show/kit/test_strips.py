"""Ratios drawn as strips of SVG."""

import re
from xml.etree import ElementTree

import pytest

from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.show.kit.strips import LEAST_SPAN, MOST_SPAN, RATE_WORDS, StripRow, arrows_said, span_of, strip, strips

CLEAR = Ratio(1.5, 1.25, 1.8, runs=3, p=0.001)
NOISY = Ratio(0.9, 0.7, 1.2, runs=3, p=0.4)


def drawn(*rows: StripRow, span: float = 2.0) -> ElementTree.Element:
    return ElementTree.fromstring(strip("l.i1, inserts/s", rows, span))


def centre(figure: ElementTree.Element, number: int = 0) -> float:
    return float(figure.findall(".//circle")[number].get("cx", "nan"))


def test_only_a_difference_beyond_noise_is_filled_and_has_a_word() -> None:
    figure = drawn(StripRow("a", CLEAR), StripRow("b", NOISY), StripRow("c", Ratio(2.0)))
    clear, noisy, single = figure.findall(".//circle")
    assert clear.get("fill") == clear.get("stroke") != "#fff" == noisy.get("fill") == single.get("fill")
    texts = [text.text for text in figure.findall(".//g/text")]
    assert texts == ["a", "1.50x better", "b", "0.90x", "c", "2.00x"]
    assert len(figure.findall(".//line[@class='interval']")) == 2, "one run has no interval"


def test_dots_stand_on_a_logarithmic_axis_around_one() -> None:
    figure = drawn(StripRow("half", Ratio(0.5)), StripRow("even", Ratio(1.0)), StripRow("twice", Ratio(2.0)), span=4.0)
    half, even, twice = (centre(figure, number) for number in range(3))
    assert twice - even == pytest.approx(even - half, abs=0.2) and even > half
    one = figure.find(".//line[@class='one']")
    assert one is not None and float(one.get("x1", "nan")) == even


def test_the_word_tells_good_from_bad_not_more_from_less() -> None:
    far = Ratio(0.0083, 0.005, 0.0137, runs=3, p=0.001)
    slow = Ratio(0.5, 0.45, 0.55, runs=3, p=0.001)
    assert StripRow("a", far, better="lower").figure == "0.0083x better"
    assert StripRow("a", slow, words=RATE_WORDS).figure == "0.50x slower"
    assert StripRow("a", CLEAR, better="neither").figure == "1.50x"
    assert StripRow("a", CLEAR, words=RATE_WORDS).text == "1.50x [1.25, 1.80] faster"


def test_strips_that_stand_together_have_one_axis() -> None:
    """A dot further from 1x is a larger difference, in whichever strip it is."""
    titled = [("little", [StripRow("a", Ratio(1.1))]), ("much", [StripRow("a longer name", Ratio(3.0))])]
    little, much = (ElementTree.fromstring(drawn) for drawn in strips(titled))
    one, same = (figure.find(".//line[@class='one']") for figure in (little, much))
    assert one is not None and same is not None and one.get("x1") == same.get("x1")
    assert 0 < centre(little) - float(one.get("x1", "nan")) < 0.2 * (centre(much) - float(one.get("x1", "nan")))
    assert arrows_said(titled[0][1]) == arrows_said(titled[1][1]) == ""


def test_what_is_off_the_axis_is_an_arrow_with_its_figure() -> None:
    far = Ratio(116.0, 81.0, float("inf"), runs=3, p=0.001)
    figure = drawn(StripRow("far", far), StripRow("none", Ratio(0.0)), span=span_of([far]))
    assert span_of([far]) == MOST_SPAN and span_of([Ratio(1.0)]) == pytest.approx(1.05 * LEAST_SPAN)
    (arrow,) = figure.findall(".//path")
    assert not figure.findall(".//circle"), "a dot at the edge would be a value there"
    assert arrow.get("fill") == arrow.get("stroke") and "116x better" in [t.text for t in figure.findall(".//g/text")]
    cut = Ratio(2.0, 0.01, 400.0, runs=3, p=0.4)
    figure = drawn(StripRow("cut", cut), span=MOST_SPAN)
    assert [path.get("fill") for path in figure.findall(".//path")] == ["none", "none"] and centre(figure) > 0
    assert arrows_said([StripRow("cut", cut)]) == arrows_said([StripRow("far", far)]) == " Arrow: beyond the axis."


def test_what_has_no_ratio_says_why_and_all_text_is_only_text() -> None:
    hostile = "<script>alert(1)</script>"
    figure = drawn(StripRow(hostile, None, "failed"), StripRow("base", None, "1x"))
    assert figure.find(".//script") is None
    svg = figure.find("svg")
    assert svg is not None and svg.get("role") == "img"
    assert svg.get("aria-label") == f"l.i1, inserts/s: {hostile} failed; base 1x"
    assert "failed" in [text.text for text in figure.findall(".//g/text")]


def test_a_long_name_is_cut_in_its_middle_and_whole_in_its_title() -> None:
    name = "percona-server-8.0.36.innodb_flush_method_b"
    figure = drawn(StripRow(name, CLEAR))
    shown = figure.findall(".//g/text")[0].text or ""
    assert re.fullmatch(r"percona-s….*flush_method_b|percona-s….{12}", shown) and len(shown) <= 22
    title = figure.find(".//title")
    assert title is not None and title.text == f"{name}: 1.50x [1.25, 1.80] better"
