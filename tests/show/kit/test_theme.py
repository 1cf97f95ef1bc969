"""The tokens: enough contrast on light and dark screens, and colours that the colour-blind tell apart."""

import numpy as np
import pytest

from ibench_lib.errors import ParameterError
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.theme import COLOURS, DASHES, MARKS, PALETTES, inert, seconds, series

SCREENS = {"light": 0, "dark": 1}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
# What is left of linear RGB without one kind of cones (Machado, Oliveira, Fernandes 2009, severity 1).
BLIND = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    low, high = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(colour: str, seen_by: list[list[float]]) -> np.ndarray:
    shown = TO_XYZ @ np.clip(np.array(seen_by) @ linear(colour), 0, 1) / np.array([0.9505, 1, 1.089])
    x, y, z = np.where(shown > 0.008856, np.cbrt(shown), 7.787 * shown + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("screen", SCREENS)
def test_texts_have_the_contrast_of_aa_and_lines_that_of_graphics(screen: str) -> None:
    of = {name: pair[SCREENS[screen]] for name, pair in COLOURS.items()}
    texts = [(name, "paper") for name in ("ink", "quiet", "link", *(name for name in of if name.endswith("-ink")))]
    texts += [(f"{name}-ink", name) for name in of if f"{name}-ink" in of]
    texts += [("ink", name) for name in ("tint", "warning", "frame", "kernel", "nameless", "hit")]
    texts += [("quiet", ground) for ground in ("tint", "good", "bad", "status", "classic-good", "classic-bad")]
    texts += [("quiet", ground) for ground in ("top", "bottom", "above", "below", "classic-top", "classic-bottom")]
    texts += [("link", "tint")]
    weak = [(text, ground) for text, ground in texts if contrast(of[text], of[ground]) < 4.5]
    # The palest of Okabe and Ito's lines are 2.3 on white; each has a name next to it.
    palest = 3.0 if screen == "dark" else 2.2
    weak += [(name, "paper") for name in (*theme.LINES, "focus") if contrast(of[name], of["paper"]) < palest]
    assert weak == []


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("kind", BLIND)
@pytest.mark.parametrize("marks", [("good", "bad"), ("top", "bottom"), ("above", "below")])
def test_marks_look_different_whatever_cones_are_missing(marks: tuple[str, str], kind: str, screen: str) -> None:
    one, other = (lab(COLOURS[f"{name}-ink"][SCREENS[screen]], BLIND[kind]) for name in marks)
    assert np.linalg.norm(one - other) > 20


def test_a_light_colour_says_which_dark_one_it_is() -> None:
    assert len(theme.dark_colours()) == len(COLOURS) + 1


def test_a_sheet_has_every_token_and_its_dark_colours_only_on_screens() -> None:
    light, dark, *_ = theme.style_sheet().splitlines()
    assert "@media screen and (prefers-color-scheme:dark)" in dark
    for name, pair in COLOURS.items():
        assert f"--{name}:{pair[0]}" in light and f"--{name}:{pair[1]}" in dark
    assert all(f"--{name}:{size}" in light for name, size in theme.SIZES.items())


def test_marks_have_the_colours_of_their_palette() -> None:
    for palette in PALETTES.values():
        for mark in MARKS:
            painted = zip(palette.of(mark), palette.paints(mark), strict=True)
            assert all(colour in paint and paint.startswith("var(--") for colour, paint in painted)
    assert PALETTES["classic"].of("good") != PALETTES["default"].of("good")
    with pytest.raises(ParameterError, match="palette 'x' does not exist"):
        theme.palette("x")


def test_a_series_has_its_colour_and_another_dash_after_all_colours_were_used() -> None:
    looks = [series(position) for position in range(len(theme.LINES) * len(DASHES))]
    assert len(set(looks)) == len(looks)
    assert looks[0] == (theme.COLOURS[theme.LINES[0]][0], "solid") and looks[len(theme.LINES)] == (
        theme.COLOURS[theme.LINES[0]][0],
        "dash",
    )


def test_text_stays_text_in_a_chart() -> None:
    assert inert("<b>%{y}</b> & 1") == "&lt;b&gt;%&#123;y}&lt;/b&gt; &amp; 1"


@pytest.mark.parametrize(("value", "text"), [(95.307, "95.307 s"), (0.0124, "12.4 ms"), (0.00031, "310 us")])
def test_seconds_have_a_unit_that_fits(value: float, text: str) -> None:
    assert seconds(value) == text
