"""Rates over time drawn as SVG: the line, the dips with their causes, and which runs have a picture."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import Selection, choose
from ibench_lib.show.kit.display import Html
from ibench_lib.show.kit.sparklines import MOST, sparklines
from tests.shared import lake_of
from tests.synthetic import Run

pytestmark = pytest.mark.lake

DIPPED = Run("slow", l_i1_s=20, stall=(9, 10, 11))


def post_of(*runs: Run) -> Selection:
    return choose(lake_of(*runs), "demo", steps=["l.i1"])


def drawn(post: Selection) -> ElementTree.Element:
    markup = sparklines(post.ask("one_second"), post.ask("steadiness"), post.ask("dips")).markup
    return ElementTree.fromstring(f"<div>{markup}</div>")


def numbers(shape: ElementTree.Element, *names: str) -> list[float]:
    return [float(shape.attrib[name].rstrip("%")) for name in names]


def points(figure: ElementTree.Element) -> list[list[float]]:
    """Its points: % of the width of the plot, pixels from above."""
    (box,) = [svg for svg in figure.iter("svg") if svg.find("polyline") is not None]
    left, _, wide, _ = map(float, box.attrib["viewBox"].split())
    pairs = (pair.split(",") for pair in box[0].attrib["points"].split())
    return [[100 * (float(x) - left) / wide, float(y)] for x, y in pairs]


@pytest.mark.slow
def test_a_dip_is_a_band_where_the_line_falls_with_its_cause() -> None:
    (figure,) = (whole := drawn(post_of(DIPPED))).findall(".//figure")
    (band,) = figure.findall(".//rect")
    left, width = numbers(band, "x", "width")
    line = points(figure)
    assert len(line) == 20, "a point for each second"
    inside = [y for x, y in line if left < x < left + width]
    (median,) = figure.findall(".//line[@class='one']")
    assert len(inside) == 3 and min(inside) > numbers(median, "y1")[0], "y grows downwards"
    assert [text.text for text in figure.findall(".//text[@fill]")] == ["unexplained"]
    svg = figure.find("div/div/svg")
    assert svg is not None and svg.attrib["width"] == "100%" and float(svg.attrib["height"]) < 120
    assert svg.attrib["aria-label"].endswith("; unexplained at 9 s")
    assert "more run" not in "".join(whole.itertext())


@pytest.mark.slow
def test_pictures_of_a_step_share_their_axes_and_those_left_out_are_counted() -> None:
    runs = [replace(DIPPED, config=f"c{n}", minute=n, repeat=r) for n in range(2) for r in (1, 2, 3, 4)]
    runs[:4] = [replace(run, l_i1_s=10, stall=()) for run in runs[:4]]
    whole = drawn(post_of(*runs))
    figures = whole.findall(".//figure")
    assert len(figures) == 2 <= MOST
    captions = ["".join(figure.find("figcaption").itertext()) for figure in figures]  # type: ignore[union-attr]
    assert ["r2" in caption for caption in captions] == [True, True], "of four with one rate, the lower in the middle"
    assert "6 more runs below." in "".join(whole.itertext())
    short, long = (points(figure) for figure in figures)
    assert len(short) == 10 and len(long) == 20 and short[0][0] == long[0][0]
    assert 45 < max(x for x, _ in short) < 50 < 95 < max(x for x, _ in long), "half of the axis"
    assert short[0][1] < long[0][1], "twice the rate"
    assert [len(figure.findall(".//rect")) for figure in figures] == [0, 1]
    ends = [[text for text in figure.itertext() if text.startswith("done, ")] for figure in figures]
    assert ends == [["done, 10 s"], []], "the server was not down after that"
    steps = ("l.i0", "l.x", "l.i1")
    failed = replace(runs[0], minute=11, repeat=9, status="failed", failed_step="l.i1", error="lost", steps=steps)
    said = [text for text in drawn(post_of(DIPPED, failed)).itertext() if text.endswith(", 10 s")]
    assert said == ["failed, 10 s"], "a step that failed is not done"


def test_intervals_are_flat_without_a_median_or_dips() -> None:
    post = post_of(Run())
    rates = post.ask("one_second").filter(pl.col("client").is_null(), operation="insert").head(2)
    rates = rates.with_columns(
        t_s=pl.Series([0.0, 10.0]), bucket_s=10.0, interval_s=10.0, rate_mean=pl.Series([50.0, 100.0])
    )
    rates = rates.with_columns(rate_min="rate_mean", rate_max="rate_mean")
    steady = post.ask("steadiness").with_columns(median_rate=pl.lit(None, pl.Float64))
    markup = sparklines(rates, steady, post.ask("dips")).markup
    (figure,) = ElementTree.fromstring(f"<div>{markup}</div>").findall(".//figure")
    assert [x for x, _ in points(figure)] == pytest.approx([0, 50, 50, 100], abs=0.1)
    assert [y for _, y in points(figure)] == pytest.approx([53, 53, 16, 16])
    assert figure.findall(".//line[@class='one']") == [], "no median"
    assert "inserts/s in l.i1, intervals of 10 s" in markup and "such as a dip, is not known" in markup
    assert "Dashes" not in markup


@pytest.mark.slow
def test_a_crosshair_reads_the_second_the_rate_its_unit_and_the_run() -> None:
    figures = drawn(post_of(DIPPED, replace(DIPPED, repeat=2, minute=1, stall=()))).findall(".//figure")
    assert [figure.attrib["data-time"] for figure in figures] == ["l.i1, cached"] * 2
    read = [json.loads(figure.find("div/div").attrib["data-lines"]) for figure in figures]  # type: ignore[union-attr]
    assert [line[:2] for (line,) in read] == [["inserts/s", "system.slow r1"], ["inserts/s", "system.slow r2"]]
    (((_, _, dipped),), ((_, _, even),)) = read
    assert dict(dipped)[10.5] == 0 < dict(even)[10.5] < dict(dipped)[2.5], "as the dips in the data"
    plot = figures[0].find("div/div")
    assert plot is not None and (plot.attrib["data-from"], plot.attrib["data-to"]) == ("0", "20")


@pytest.mark.slow
def test_a_first_screen_has_them_next_to_its_sentences() -> None:
    def screen(**more: Any) -> str:
        shown = ib.opening(post_of(DIPPED), ib.steadiness_statements, **more)
        (item,) = shown.items
        assert isinstance(item, Html)
        assert ("one_second" in shown.answers) == bool(more)
        return item.markup

    assert "over-time" not in screen()
    page = screen(over_time=True)
    assert page.index('class="tested"') < page.index("over-time") < page.index('class="statements"')


def test_a_step_without_rates_has_no_picture() -> None:
    post = choose(lake_of(Run()), "demo", steps=["l.x"])
    assert drawn(post).findall(".//figure") == []
