"""Colours and texts that tables, charts and pages share."""

import pytest

from ibench_lib.errors import ParameterError
from ibench_lib.show.kit.theme import DASHES, MARKS, PALETTES, SERIES, inert, palette, seconds, series


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it, 0 to 1."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("name", PALETTES)
def test_the_text_of_a_mark_stands_out_from_its_cell(name: str) -> None:
    for mark in MARKS:
        dark, light = sorted(map(luminance, palette(name).of(mark)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, mark


def test_an_unknown_palette_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ParameterError, match="palette 'rainbow' does not exist") as refused:
        palette("rainbow")
    assert refused.value.hint == "there are: default, classic"


def test_a_series_has_its_colour_and_another_dash_after_all_colours_were_used() -> None:
    looks = [series(position) for position in range(len(SERIES) * len(DASHES))]
    assert len(set(looks)) == len(looks)
    assert looks[0] == (SERIES[0], "solid") and looks[len(SERIES)] == (SERIES[0], "dash")


def test_text_stays_text_in_a_chart() -> None:
    assert inert("<b>%{y}</b> & 1") == "&lt;b&gt;%&#123;y}&lt;/b&gt; &amp; 1"


@pytest.mark.parametrize(("value", "text"), [(95.307, "95.307 s"), (0.0124, "12.4 ms"), (0.00031, "310 us")])
def test_seconds_have_a_unit_that_fits(value: float, text: str) -> None:
    assert seconds(value) == text
