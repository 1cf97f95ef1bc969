"""One look for tables, charts and pages: colours, type, and how each frame names what it shows."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Literal, get_args

from ibench_lib.errors import ParameterError

Mark = Literal["good", "bad", "sla_failed", "status", "top", "bottom", "above", "below"]
"""The last four are ranks (`analysis/ranks.py`): of a figure among those of its step, and of a ratio to the base."""

MARKS: tuple[Mark, ...] = get_args(Mark)

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

COLOURS: dict[str, tuple[str, str]] = {
    "paper": ("#ffffff", "#14171b"),
    "ink": ("#1a1e23", "#e9ebee"),
    "quiet": ("#5a636e", "#a7afb9"),
    "rule": ("#d9dfe5", "#363d45"),
    "grid": ("#e5e8ec", "#2a3037"),
    "tint": ("#f4f7fa", "#1d2228"),
    "shade": ("#b9c1ca", "#59636e"),
    "link": ("#0b5cad", "#7ab8f0"),
    "focus": ("#2f7fc4", "#7db3e8"),
    "client": ("rgba(91,104,117,0.45)", "rgba(167,175,185,0.45)"),
    # Blue and orange stay apart for every common kind of colour blindness.
    "good": ("#d3e5f6", "#16344d"),
    "good-ink": ("#0a4a7c", "#7cc4f0"),
    "bad": ("#fbdcbc", "#4a2c14"),
    "bad-ink": ("#7d3600", "#f5a96b"),
    "missed": ("#dcdfe3", "#3a424b"),
    "missed-ink": ("#30363d", "#dde1e6"),
    "status": ("#eceff2", "#262c33"),
    "status-ink": ("#3f4b57", "#c3cad2"),
    "classic-good": ("#c8e9c8", "#183c1f"),
    "classic-good-ink": ("#0f4d18", "#86d68f"),
    "classic-bad": ("#fad6d3", "#521f1d"),
    "classic-bad-ink": ("#7c1410", "#ff9d97"),
    "classic-missed": ("#f7ecb0", "#443b0c"),
    "classic-missed-ink": ("#574700", "#f0dc7a"),
    # Ranks are no differences, and have colours of their own: green and plum, blue and gold.
    "top": ("#c6ecd9", "#0f3d35"),
    "top-ink": ("#00503f", "#62e0b4"),
    "bottom": ("#f3dcf0", "#4b1c46"),
    "bottom-ink": ("#7d1a74", "#ff9ae0"),
    "above": ("#d9e0fc", "#1f2d5c"),
    "above-ink": ("#24409e", "#a9bbff"),
    "below": ("#fbecae", "#473900"),
    "below-ink": ("#6b4c00", "#f0cd55"),
    "classic-top": ("#d2edd0", "#1b4023"),
    "classic-top-ink": ("#12501c", "#8cda94"),
    "classic-bottom": ("#f9dbd6", "#572321"),
    "classic-bottom-ink": ("#7a1b14", "#ffa59c"),
    "warning": ("#fdf6e3", "#2e2714"),
    "warning-line": ("#c8a24a", "#94783a"),
    "frame": ("#f7dcae", "#5b4524"),
    "kernel": ("#cfe0ee", "#23405a"),
    "nameless": ("#e9ecef", "#2b323a"),
    "hit": ("#ffe14d", "#766200"),
    # Lines of charts, after Okabe and Ito; their yellow is left out, it is too light for a line on white.
    "line-1": ("#0072b2", "#4fa8e0"),
    "line-2": ("#d55e00", "#f2893c"),
    "line-3": ("#009e73", "#2fc79b"),
    "line-4": ("#cc79a7", "#e39cc4"),
    "line-5": ("#56b4e9", "#a5dcfa"),
    "line-6": ("#8a6d00", "#cfae3a"),
    "line-7": ("#5a4fcf", "#a79ff5"),
    "line-8": ("#4d4d4d", "#b4b4b4"),
}
"""Each colour of pages by its name: on a light and on a dark screen. Paper is light. No two have one light colour."""

SIZES: dict[str, str] = {
    "title": "1.875rem",
    "section": "1.4rem",
    "caption": "1.19rem",
    "head": "0.9375rem",
    "table": "0.875rem",
    "note": "0.8125rem",
    "axis": "0.6875rem",
    "gap": "0.5rem",
    "block": "1rem",
    "figure": "1.75rem",
    "part": "3rem",
}
"""Sizes of type, then spaces, by their names in style sheets."""

INK, QUIET, RULE, GRID, CLIENT = (COLOURS[name][0] for name in ("ink", "quiet", "rule", "grid", "client"))


def paint(name: str) -> str:
    """A colour for HTML and SVG: a page shows the light or the dark one, a notebook, which has no tokens, the light."""
    return f"var(--{name},{COLOURS[name][0]})"


def light(name: str) -> str:
    """A colour for pictures, which are on paper."""
    return COLOURS[name][0]


def style_sheet() -> str:
    """The tokens as CSS: `--<name>` for each colour and size, with the dark colours on dark screens only."""
    light, dark = (";".join(f"--{name}:{pair[place]}" for name, pair in COLOURS.items()) for place in (0, 1))
    sizes = ";".join(f"--{name}:{size}" for name, size in SIZES.items())
    return (
        f":root{{color-scheme:light dark;--font:{FONT};{sizes};{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
        f"@media print{{:root{{color-scheme:light}}}}\n{marks_style()}\n"
    )


def marks_style(scope: str = "") -> str:
    """The style of marked cells below a selector, which ends in a space."""
    return "".join(
        f"{scope}:is(td,span)[data-mark={name}]{{background:{paint(name)};color:{paint(f'{name}-ink')}}}"
        for name in COLOURS
        if f"{name}-ink" in COLOURS
    )


def dark_colours() -> dict[str, str]:
    """Light colour -> dark colour, for charts whose colours are data."""
    return dict(COLOURS.values()) | {"white": COLOURS["paper"][1]}


_OF_ALL_PALETTES = ("status", "above", "below")


@dataclass(frozen=True)
class Palette:
    """The colours of marks, by what their tokens begin with. A word next to a mark says the same as its colour."""

    prefix: str = ""

    def token(self, mark: Mark) -> str:
        """The token of a mark's cell; that of its text ends in -ink."""
        return mark if mark in _OF_ALL_PALETTES else f"{self.prefix}{mark.replace('sla_failed', 'missed')}"

    def of(self, mark: Mark) -> tuple[str, str]:
        """The light colours of a mark: of the cell and of its text."""
        return COLOURS[self.token(mark)][0], COLOURS[f"{self.token(mark)}-ink"][0]

    def paints(self, mark: Mark) -> tuple[str, str]:
        """The same for HTML and SVG (`paint`)."""
        return paint(self.token(mark)), paint(f"{self.token(mark)}-ink")


PALETTES: dict[str, Palette] = {"default": Palette(), "classic": Palette("classic-")}

RANK_WORDS: dict[Mark, str] = {"top": "top", "bottom": "bottom", "above": "above", "below": "below"}

WORDS: dict[Mark, str] = {"good": "better", "bad": "worse", "sla_failed": "missed", **RANK_WORDS}
"""What stands behind a marked figure, where its table has no words of its own: it says what the colour says."""

CHANGE_WORDS: dict[Mark, str] = {"good": "less", "bad": "more"}
"""The same for changes of a cost from A to B."""

LINES = tuple(name for name in COLOURS if name.startswith("line-"))
DASHES = ("solid", "dash", "dot", "dashdot")


def palette(name: str) -> Palette:
    """The palette of that name.

    Raises
    ------
    ParameterError : no such palette.
    """
    if name not in PALETTES:
        raise ParameterError(f"palette {name!r:.40} does not exist", hint=f"there are: {', '.join(PALETTES)}")
    return PALETTES[name]


def line_token(position: int) -> str:
    """The token of the colour of the dbms at a position counted from 0."""
    return LINES[position % len(LINES)]


def series(position: int) -> tuple[str, str]:
    """Light colour and dash of the dbms at a position: the same dbms looks the same in every chart."""
    return COLOURS[line_token(position)][0], DASHES[position // len(LINES) % len(DASHES)]


def inert(text: object) -> str:
    """Text for plotly, which reads some HTML tags, entities and %{...} in labels: here it is only text."""
    return html.escape(str(text), quote=False).replace("%{", "%&#123;")


def seconds(value: float) -> str:
    """Seconds to read: 95.307 s, 12.4 ms, 310 us."""
    if value >= 1:
        return f"{value:,.3f} s"
    if value >= 1e-3:
        return f"{value * 1e3:.1f} ms"
    return f"{value * 1e6:.0f} us"
