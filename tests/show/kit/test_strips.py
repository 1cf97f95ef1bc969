"""Ratios drawn as strips of SVG."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.show.kit.strips import (
    LEAST_SPAN,
    MOST_SPAN,
    RATE_WORDS,
    StripRow,
    arrows_said,
    begun,
    coloured,
    finding,
    heat,
    marks_said,
    span_of,
    strip,
    strips,
)

CLEAR = Ratio(1.5, 1.25, 1.8, runs=3, p=0.001)
NOISY = Ratio(0.9, 0.7, 1.2, runs=3, p=0.4)


def drawn(*rows: StripRow, span: float = 2.0) -> ElementTree.Element:
    return ElementTree.fromstring(strip("l.i1, inserts/s", rows, span).markup)


def centre(figure: ElementTree.Element, number: int = 0) -> float:
    return share(figure.findall(".//circle")[number].get("cx"))


def share(percent: str | None) -> float:
    """A place on the axis, in % of its width."""
    return float((percent or "nan").removesuffix("%"))


def texts(figure: ElementTree.Element) -> list[str | None]:
    """What the cells of all rows say: label, figure, interval."""
    cells = [cell for row in figure.findall(".//tr[@title]") for cell in row if cell.get("class") != "along"]
    return [cell.text for cell in cells]


def test_only_a_difference_beyond_noise_is_filled_and_has_a_word() -> None:
    figure = drawn(StripRow("a", CLEAR), StripRow("b", NOISY), StripRow("c", Ratio(2.0)))
    clear, noisy, single = figure.findall(".//circle")
    assert clear.get("fill") == clear.get("stroke") != "var(--paper,#ffffff)" == noisy.get("fill") == single.get("fill")
    assert texts(figure) == [
        "a", "1.50x better", "[1.25, 1.80]", "b", "0.90x, may be noise", "[0.70, 1.20]", "c", "2.00x", None,
    ]  # fmt: skip
    assert len(figure.findall(".//line[@class='interval']")) == 2, "one run has no interval"


def test_a_heat_map_has_a_row_for_each_step_and_colours_what_is_clear() -> None:
    steps = [(f"step {number}", [StripRow("a", CLEAR), StripRow("b", NOISY)]) for number in range(3)]
    steps[0] = ("<step>", [StripRow("b", status="failed")])
    first, last = map(ElementTree.fromstring, heat(steps, "Rates"))
    assert [figure.findtext(".//caption") for figure in (first, last)] == [
        "Rates, 1 to 2 of 3",
        "Rates, 3 of 3",
    ]
    assert [head.text for head in first.findall(".//th[@scope='col']")] == ["b", "a"]
    rows = [[cell.text for cell in row] for row in first.findall("table/tbody/tr")]
    assert rows == [["<step>", "failed", None], ["step 1", "0.90x", "1.50x"]]
    noisy, clear = first.findall("table/tbody/tr[2]/td")
    assert noisy.get("style") is None and noisy.get("title") == "0.90x [0.70, 1.20], may be noise"
    assert "var(--good," in str(clear.get("style"))
    assert len(heat([("x", [StripRow(label, CLEAR) for label in "abcdef"])], "Rates")) == 1
    (chained,) = heat([("x", [StripRow("<b> · to a", CLEAR)])], "Rates")[:1]
    assert '<th scope="col">&lt;b&gt;<span class="code"> to a</span></th>' in chained
    legend = coloured("default", RATE_WORDS, [StripRow("b", NOISY)])
    small = StripRow("a", Ratio(1.02, 1.01, 1.03, runs=9, p=0.001))
    assert legend.endswith(
        "Grey: may be noise. Each figure has a 95 % interval of its own (median: 0.76 to 1.31 times "
        "the ratio), so one further from 1x can be grey."
    )
    wide = coloured("default", RATE_WORDS, [StripRow("b", NOISY), *[StripRow("a", Ratio(1, 0.5, 2, p=0.9))] * 2])
    assert "(median: 0.50 to 2.00 times the ratio)" in wide
    assert "Black: " in coloured("default", RATE_WORDS, [small])
    assert '<td class="small"' in heat([("x", [small])], "Rates")[0] and 'class="small"' not in chained
    paints = re.findall(r'style="([^"]*)"', legend)
    assert paints[0] == clear.get("style") and ">faster</span>" in legend and ">slower</span>" in legend


def test_dots_stand_on_a_logarithmic_axis_around_one() -> None:
    figure = drawn(StripRow("half", Ratio(0.5)), StripRow("even", Ratio(1.0)), StripRow("twice", Ratio(2.0)), span=4.0)
    half, even, twice = (centre(figure, number) for number in range(3))
    assert twice - even == pytest.approx(even - half, abs=0.2) and even > half
    one = figure.find(".//line[@class='one']")
    assert one is not None and share(one.get("x1")) == even


def test_the_word_tells_good_from_bad_not_more_from_less() -> None:
    far = Ratio(0.0083, 0.005, 0.0137, runs=3, p=0.001)
    slow = Ratio(0.5, 0.45, 0.55, runs=3, p=0.001)
    assert StripRow("a", far, better="lower").figure == "1/120x, better"
    assert StripRow("a", slow, words=RATE_WORDS).figure == "0.50x, slower"
    assert StripRow("a", CLEAR, better="neither").figure == "1.50x, more"
    assert StripRow("a", slow, better="neither").figure == "0.50x, less"
    assert StripRow("a", Ratio(1.02, 1.01, 1.03, runs=9, p=0.001)).figure == "1.02x, too small to count"
    assert StripRow("a", CLEAR, words=RATE_WORDS).text == "1.50x [1.25, 1.80] faster"


def test_strips_that_stand_together_have_one_axis() -> None:
    """A dot further from 1x is a larger difference, in whichever strip it is."""
    titled = [("little", [StripRow("a", Ratio(1.1))]), ("much", [StripRow("a longer name", Ratio(3.0))])]
    little, much = (ElementTree.fromstring(drawn.markup) for drawn in strips(titled))
    named, same = ([text.text for text in figure.findall(".//text")] for figure in (little, much))
    assert named == same and {"0.5x", "1x", "2x"} <= set(named)
    assert 0 < centre(little) - 50 < 0.2 * (centre(much) - 50)
    assert arrows_said(titled[0][1]) == arrows_said(titled[1][1]) == ""


def test_what_is_off_the_axis_is_an_arrow_with_its_figure() -> None:
    far = Ratio(116.0, 81.0, float("inf"), runs=3, p=0.001)
    figure = drawn(StripRow("far", far), StripRow("none", Ratio(0.0)), span=span_of([far]))
    assert span_of([far]) == MOST_SPAN and span_of([Ratio(1.0)]) == pytest.approx(1.05 * LEAST_SPAN)
    (arrow,) = figure.findall(".//path")
    assert not figure.findall(".//circle"), "a dot at the edge would be a value there"
    assert arrow.get("fill") == arrow.get("stroke") and "116x better" in texts(figure)
    assert [svg.get("x") for svg in figure.findall(".//svg/svg")] == ["100%"], "at the right end"
    cut = Ratio(2.0, 0.01, 400.0, runs=3, p=0.4)
    figure = drawn(StripRow("cut", cut), span=MOST_SPAN)
    assert [path.get("fill") for path in figure.findall(".//path")] == ["none", "none"] and centre(figure) > 0
    assert arrows_said([StripRow("cut", cut)]) == arrows_said([StripRow("far", far)]) == " Arrow: beyond the axis."


def test_what_has_no_ratio_says_why_and_all_text_is_only_text() -> None:
    hostile = "<script>alert(1)</script>"
    figure = drawn(StripRow(hostile, None, "failed"), StripRow("base", None, "1x"))
    assert figure.find(".//script") is None
    assert texts(figure) == [hostile, "failed", None, "base", "1x", None]


def test_a_long_name_is_whole() -> None:
    name = "percona-server-8.0.36.innodb_flush_method_b"
    figure = drawn(StripRow(name, CLEAR))
    assert texts(figure)[0] == name
    row = figure.find(".//tr[@title]")
    assert row is not None and row.get("title") == f"{name}: 1.50x [1.25, 1.80] better"


def test_the_finding_is_the_largest_gain_and_the_largest_loss() -> None:
    fast, faster = Ratio(1.5, 1.4, 1.6, 3, p=0.001), Ratio(8.6, 6.9, 10.7, 3, p=0.001)
    slow = Ratio(0.82, 0.72, 0.95, 3, p=0.001)
    load = ("l.i1", [StripRow("a13", slow, words=RATE_WORDS), StripRow("a20", fast, words=RATE_WORDS)])
    read = ("qr100", [StripRow("a20", Ratio(8.0, 6.5, 9.9, 3, p=0.001), words=RATE_WORDS),
                      StripRow("a21", faster, words=RATE_WORDS, name="mysql.a21"), StripRow("a10", NOISY)])  # fmt: skip
    assert finding([load, read]) == (
        "qr100: 8.60x to 8.00x faster with mysql.a21 and a20; l.i1: 0.82x, slower with a13, but 1.50x faster with a20"
    ), "their intervals overlap, so nobody knows which of them is faster"
    assert finding([load], "{names} {figure}") == "l.i1: a20 1.50x faster; l.i1: a13 0.82x, slower"
    titled = [("Inserts (l.i1)", [StripRow("a", faster)]), ("inserts (l.i2)", [StripRow("a", slow)])]
    assert finding(titled) == "Inserts (l.i1): 8.60x better with a; inserts (l.i2): 0.82x, worse with a"
    titled[0] = ("inserts (l.i1)", titled[0][1])
    assert finding(titled) == "inserts (l.i1): 8.60x better with a; l.i2: 0.82x, worse with a", "the same words"
    lags = [
        StripRow(name, Ratio(1 / n, 0.9 / n, 1.1 / n, 3, p=0.001), better="lower") for name, n in (("a", 2), ("b", 4))
    ]
    assert finding([("lag", lags)]) == "lag: 0.25x, better with b, 0.50x with a"
    lags += [StripRow(name, Ratio(0.7, 0.66, 0.74, 3, p=0.001), better="lower") for name in "cd"]
    assert finding([("lag", lags)]) == "lag: 0.25x, better with b, 0.50x to 0.70x with 3 others"
    many = [StripRow(name, faster, words=RATE_WORDS) for name in "abcde"]
    assert finding([("qr100", many)]) == "qr100: 8.60x faster with a and 4 others"


def test_a_finding_names_what_it_is_relative_to_once_unless_that_differs() -> None:
    fast, slow = Ratio(1.5, 1.4, 1.6, 3, p=0.001), Ratio(0.82, 0.72, 0.95, 3, p=0.001)

    def said(base: str, other: str) -> str:
        rows = [StripRow("b", fast, words=RATE_WORDS, base=base), StripRow("c", slow, words=RATE_WORDS, base=other)]
        return finding([("l.i1", rows)])

    assert said("a", "a") == "l.i1: 1.50x faster with b than with a; l.i1: 0.82x, slower with c"
    assert said("a", "b") == "l.i1: 1.50x faster with b than with a; l.i1: 0.82x, slower with c than with b"
    two = [StripRow("b", fast, words=RATE_WORDS, base="a"), StripRow("c", fast, words=RATE_WORDS, base="b")]
    assert finding([("l.i1", two)]) == "l.i1: 1.50x faster with b than with a", "the base of c is another one"


def test_a_hollow_dot_whose_interval_leaves_out_1x_is_explained() -> None:
    apart = Ratio(3.5, 1.2, 10.3, runs=3, p=0.03, level=0.01, comparisons=24)
    small = Ratio(1.02, 1.01, 1.03, runs=9, p=0.001, comparisons=24)
    said = marks_said([StripRow("a", apart), StripRow("b", NOISY)])
    assert said.startswith("Filled: a difference. Hollow: none that is clear.")
    assert said.endswith(" A dot may be hollow though its interval leaves out 1x: verdicts allow for 24 comparisons.")
    assert "24" not in marks_said([StripRow("a", NOISY), StripRow("b", small), StripRow("c", CLEAR)])


def test_where_both_reach_their_target_a_small_difference_is_no_noise() -> None:
    assert StripRow("a", NOISY, at_target=True).figure == "0.90x, both at their target"
    assert StripRow("a", CLEAR, at_target=True).figure == "1.50x better"


def test_where_nothing_is_clear_the_finding_says_so_and_not_that_sides_are_equal() -> None:
    noisy, alone = ("l.i1", [StripRow("a", NOISY)]), ("qr100", [StripRow("a", Ratio(8.0))])
    assert finding([noisy]) == "l.i1: no difference found (interval 0.70x to 1.20x)"
    assert finding([alone]) == "qr100: a has 8.00x; too few runs to tell a difference from noise"
    based = ("qr100", [StripRow("a", Ratio(8.0), base="b"), StripRow("c", Ratio(0.5), base="b")])
    assert finding([based]) == "qr100: a has 8.00x the figure of b; too few runs to tell a difference from noise"
    assert finding([("x", [StripRow("a", status="failed")])]) == "Too few runs to tell a difference from noise"
    assert finding([noisy, alone]) == finding([noisy]), "of one run nothing is said"
    wide = [StripRow("a", Ratio(1.1, 0.1, 12, p=0.9)), StripRow("b", NOISY)]
    same = [("l.i1, p99", wide), ("setup x, l.i2, p99", [StripRow("a", NOISY)])]
    assert finding(same) == "p99 in l.i1 and setup x, l.i2: no difference found (intervals from 0.10x to 12.0x)"
    same[1] = ("l.i2, mean", same[1][1])
    assert finding(same).startswith("l.i1, p99 and l.i2, mean: no difference found (")


def test_an_axis_names_values_that_leave_each_other_room() -> None:
    named = [tick.text for tick in drawn(StripRow("a", CLEAR), span=MOST_SPAN).findall(".//text")]
    assert named == ["0.1x", "0.25x", "0.5x", "1x", "2x", "4x", "10x"]
    assert [tick.text for tick in drawn(StripRow("a", CLEAR), span=1.3).findall(".//text")] == [
        "0.8x", "0.91x", "1x", "1.1x", "1.25x",
    ]  # fmt: skip


def test_a_finding_does_not_rank_two_names_of_one_server() -> None:
    fast, faster = Ratio(1.5, 1.4, 1.6, 3, p=0.001), Ratio(1.6, 1.5, 1.7, 3, p=0.001)
    first, twin = StripRow("a20", fast, words=RATE_WORDS), StripRow("a22", faster, words=RATE_WORDS, twin="a20")
    assert finding([("l.i1", [first, twin])]) == ("l.i1: 1.50x faster with a20 (a22, the same server as a20: 1.60x)")
    slow = StripRow("a13", Ratio(0.8, 0.7, 0.9, 3, p=0.001), words=RATE_WORDS)
    of_two = finding([("l.i1", [first, twin]), ("qr", [replace(first, found=faster), replace(twin, found=fast), slow])])
    assert of_two.count("a22, the same server as a20: ") == 1
    as_base = replace(twin, twin="base")
    assert finding([("l.i1", [first, as_base])]) == "l.i1: 1.50x faster with a20"
    assert finding([("l.i1", [as_base])]) == "l.i1: 1.60x faster with a22", "there is no other"
    noisy = StripRow("a18", Ratio(2.5, 0.2, 40, 3, p=0.4), twin="base")
    reach = finding([("l.i1", [StripRow("a20", NOISY), noisy])])
    assert reach == "l.i1: no difference found (intervals from 0.20x to 40x)", "their noise is that of all"


def test_a_finding_begins_with_a_capital_unless_with_a_code() -> None:
    assert begun("range queries (qr100): 2x", ["io", "qr100"]) == "Range queries (qr100): 2x"
    assert begun("qr100: 2x", ["io", "qr100"]) == "qr100: 2x" and begun("io, qr100: 2x", ["io"]) == "io, qr100: 2x"


def test_steps_that_are_called_alike_are_named_once_with_their_codes() -> None:
    none = [StripRow("b", NOISY)]
    said = finding([(title, none) for title in ("inserts (l.i1), gap", "inserts (l.i2), gap", "queries, gap")])
    assert said.startswith("gap in inserts (l.i1 and l.i2) and queries: no difference found")
