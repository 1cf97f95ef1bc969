"""One look for tables, charts and pages: colours, type, and how each frame names what it shows."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Literal, get_args

from ibench_lib.errors import ParameterError

Mark = Literal["good", "bad", "sla_failed", "status"]
MARKS: tuple[Mark, ...] = get_args(Mark)

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
INK = "#1d2733"
QUIET = "#5b6875"
RULE = "#d9dfe5"

TLDR_PLACE = "<!-- tl;dr -->"
"""Where a page puts its author's tl;dr into a first screen: behind what was tested, before what was found."""


@dataclass(frozen=True)
class Palette:
    """Background and text colour of each mark. A glyph next to it always says the same as the colour."""

    good: tuple[str, str]
    bad: tuple[str, str]
    sla_failed: tuple[str, str]
    status: tuple[str, str] = ("#eceff2", "#3f4b57")

    def of(self, mark: Mark) -> tuple[str, str]:
        """The colours of a mark: of the cell and of its text."""
        colours: tuple[str, str] = getattr(self, mark)
        return colours


PALETTES: dict[str, Palette] = {
    # Blue and orange stay apart for every common kind of colour blindness.
    "default": Palette(good=("#d3e5f6", "#0a3d6b"), bad=("#fbdcbc", "#7a3200"), sla_failed=("#dcdfe3", "#30363d")),
    "classic": Palette(good=("#c8e9c8", "#0f4d18"), bad=("#f7c6c3", "#7c1410"), sla_failed=("#f7ecb0", "#574700")),
}

GLYPHS: dict[Mark, str] = {"good": "▲", "bad": "▼", "sla_failed": "✕"}

# After Okabe and Ito; the yellow is left out, it is too light for a line on white.
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#8a6d00", "#5a4fcf", "#4d4d4d")
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


def series(position: int) -> tuple[str, str]:
    """Colour and dash of the dbms at a position counted from 0: the same dbms looks the same in every chart."""
    return SERIES[position % len(SERIES)], DASHES[position // len(SERIES) % len(DASHES)]


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
