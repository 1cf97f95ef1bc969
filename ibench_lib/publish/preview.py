"""What a link to a post shows elsewhere: a description, and its first pictures as a PNG of 1200 x 630 pixels.

Platforms take no SVG, and a page is built without a browser, so Pillow draws the pictures of the headline again.
"""

from __future__ import annotations

import io
import math
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from nbformat import NotebookNode
from PIL import Image, ImageDraw, ImageFont

from ibench_lib.show.kit import theme

PREVIEW_NAME = "preview.png"
WIDTH, HEIGHT = 1200, 630
MOST_PICTURES = 4

_MARGIN, _CAPTION, _AXIS = 30, 34, 26
_FINE = 2
_LETTER, _LINE, _DOT = 20, 24, 8.5
_KNOWN = frozenset(map(chr, range(32, 127))) | {"…"}
_MOST_LETTERS = 300  # of a description
_LEAST_ROW, _MOST_ROW = 24, 60
_BESIDE = 16
_VOID = {"line", "circle", "path", "br", "img", "col"}


@dataclass
class Strip:
    """A strip of the headline (`show.strips`): rows of (label, figure, colour), and marks in shares of its axis."""

    caption: str = ""
    rows: list[_Row] = field(default_factory=list)
    ticks: list[tuple[float, str]] = field(default_factory=list)
    one: float | None = None


_SAID = ("tested", "finding")
"""Paragraphs of a headline that are sentences of a description."""


@dataclass
class RateOverTime:
    """A rate over time of the headline (`show.sparklines`) as it is drawn, in its units."""

    caption: str = ""
    size: tuple[float, float] = (320.0, 106.0)
    points: list[tuple[float, float]] = field(default_factory=list)
    colour: str = theme.QUIET
    bands: list[tuple[float, float, float, float, str]] = field(default_factory=list)
    lines: list[tuple[float, float, float, bool]] = field(default_factory=list)
    words: list[tuple[float, float, str, str]] = field(default_factory=list)


@dataclass
class _Row:
    label: str
    figure: str = ""
    colour: str = theme.QUIET
    dot: float | None = None
    filled: bool = False
    interval: tuple[float, float] | None = None
    arrows: list[tuple[float, str]] = field(default_factory=list)
    """The end of the axis that each stands at, and what it is filled with."""


def description(notebook: NotebookNode) -> str:
    """What the headline of an executed notebook says, as much as previews show; empty without a headline."""
    sentences = _headline(notebook).sentences
    text = " ".join(said if said.endswith((".", "”")) else f"{said}." for said in sentences)
    if len(text) <= _MOST_LETTERS:
        return text
    return text[: _MOST_LETTERS - 1].rsplit(" ", 1)[0] + "…"


def preview(notebook: NotebookNode) -> bytes | None:
    """The first pictures of the headline as a PNG; None where it has none."""
    pictures = _headline(notebook).pictures[:MOST_PICTURES]
    return _drawn(pictures) if pictures else None


def _drawn(strips: list[Strip | RateOverTime]) -> bytes:
    canvas = _Canvas()
    columns = 1 if len(strips) == 1 else 2
    lines = math.ceil(len(strips) / columns)
    wide = (WIDTH - _MARGIN * (columns + 1)) // columns
    high = (HEIGHT - _MARGIN * (lines + 1)) // lines
    for place, strip in enumerate(strips):
        x = _MARGIN + (place % columns) * (wide + _MARGIN)
        y = _MARGIN + (place // columns) * (high + _MARGIN)
        if isinstance(strip, Strip):
            _draw(canvas, strip, x, y, wide, high)
        else:
            _draw_rate(canvas, strip, x, y, wide, high)
    return canvas.png()


def _draw_rate(canvas: _Canvas, rate: RateOverTime, left: int, top: int, wide: int, high: int) -> None:
    canvas.text(left, top, rate.caption, theme.INK, most=wide)
    across, down = wide / rate.size[0], (high - _CAPTION) / rate.size[1]
    top += _CAPTION
    for x, y, width, height, fill in rate.bands:
        canvas.rectangle(
            left + x * across, top + y * down, left + (x + width) * across, top + (y + height) * down, fill
        )
    for x1, x2, y, dashed in rate.lines:
        start, end, at = round(left + x1 * across), round(left + x2 * across), top + y * down
        for dash in range(start, end, 8) if dashed else (start,):
            canvas.line(dash, at, min(dash + 4, end) if dashed else end, at, theme.QUIET if dashed else theme.RULE)
    canvas.lines([(left + x * across, top + y * down) for x, y in rate.points], rate.colour)
    for x, y, text, anchor in rate.words:
        canvas.text(left + x * across, top + y * down, text, theme.QUIET, anchor)


def _draw(canvas: _Canvas, strip: Strip, left: int, top: int, wide: int, high: int) -> None:
    canvas.text(left, top, strip.caption, theme.INK, most=wide)
    room = high - _CAPTION - _AXIS
    rows = strip.rows[: room // _LEAST_ROW]
    pitch = min(_MOST_ROW, room // max(len(rows), 1))
    top += _CAPTION
    bottom = top + pitch * len(rows)
    figure_px = max((canvas.length(row.figure) for row in rows), default=0)
    label_px = min(max((canvas.length(row.label) for row in rows), default=0), wide - figure_px - wide / 3)
    start, end = left + label_px + _BESIDE, left + wide - figure_px - _BESIDE

    def at(share: float) -> float:
        return start + share * (end - start)

    free = -math.inf
    for share, text in strip.ticks:
        canvas.line(at(share), top, at(share), bottom, theme.RULE)
        half = canvas.length(text) / 2
        if at(share) - half > free:
            canvas.text(at(share), bottom, text, theme.QUIET, anchor="ma")
            free = at(share) + half + _BESIDE / 2
    if strip.one is not None:
        for dash in range(top, bottom, 8):
            canvas.line(at(strip.one), dash, at(strip.one), min(dash + 4, bottom), theme.QUIET)
    for number, row in enumerate(rows):
        y = top + pitch * (number + 0.5)
        canvas.text(left, y - _LINE / 2, row.label, theme.INK, most=label_px)
        canvas.text(left + wide, y - _LINE / 2, row.figure, row.colour, "ra")
        if row.interval:
            canvas.line(at(row.interval[0]), y, at(row.interval[1]), y, row.colour, 3)
        for side, fill in row.arrows:
            back = at(side) + (2 * _DOT if side == 0 else -2 * _DOT)
            canvas.arrow([(back, y - _DOT), (at(side), y), (back, y + _DOT)], row.colour, fill)
        if row.dot is not None:
            canvas.dot(at(row.dot), y, row.colour, row.filled)
    if len(rows) < len(strip.rows):
        canvas.text(left, bottom, f"and {len(strip.rows) - len(rows)} more", theme.QUIET)


class _Canvas:
    """A white picture, drawn twice as large as it becomes, so that its edges are smooth. Lengths are those it has."""

    def __init__(self) -> None:
        self._image = Image.new("RGB", (_FINE * WIDTH, _FINE * HEIGHT), "#fff")
        self._draw = ImageDraw.Draw(self._image)
        # It comes with Pillow, and has the letters of English and no others.
        self._font = ImageFont.load_default(_FINE * _LETTER)

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str, width: int = 1) -> None:
        self._draw.line([_FINE * end for end in (x1, y1, x2, y2)], _colour(colour), _FINE * width)

    def lines(self, points: list[tuple[float, float]], colour: str) -> None:
        self._draw.line([(_FINE * x, _FINE * y) for x, y in points], _colour(colour), _FINE * 2)

    def rectangle(self, x1: float, y1: float, x2: float, y2: float, fill: str) -> None:
        self._draw.rectangle([_FINE * end for end in (x1, y1, x2, y2)], _colour(fill))

    def dot(self, x: float, y: float, colour: str, filled: bool) -> None:
        inside = _colour(colour) if filled else "#fff"
        self._draw.circle((_FINE * x, _FINE * y), _FINE * _DOT, inside, _colour(colour), 2 * _FINE)

    def length(self, text: str) -> float:
        """How much room a text takes."""
        return self._font.getlength(_shown(text)) / _FINE

    def text(self, x: float, y: float, text: str, colour: str, anchor: str = "la", most: float = WIDTH) -> None:
        known = _shown(text)
        while known and self._font.getlength(known) > _FINE * most:
            known = f"{known.removesuffix('…')[:-1]}…" if len(known) > 1 else ""
        self._draw.text((_FINE * x, _FINE * y), known, _colour(colour), self._font, anchor)

    def arrow(self, points: list[tuple[float, float]], colour: str, fill: str) -> None:
        """What is beyond the axis: filled as a dot is, or its two edges only where `fill` is none."""
        fine = [(_FINE * x, _FINE * y) for x, y in points]
        if fill == "none":
            self._draw.line(fine, _colour(colour), 2 * _FINE)
        else:
            self._draw.polygon(fine, _colour(fill), _colour(colour), 2 * _FINE)

    def png(self) -> bytes:
        small = self._image.reduce(_FINE)
        file = io.BytesIO()
        small.save(file, "PNG")
        return file.getvalue()


def _shown(text: str) -> str:
    return "".join(letter if letter in _KNOWN else "?" for letter in text)


def _colour(text: str) -> str:
    """A colour as it is, or the light one of `theme.paint`; that of quiet text for anything else."""
    found = re.fullmatch(r"(?:var\(--[a-z0-9-]+,)?(#[0-9a-fA-F]{3,6})\)?", text)
    return found[1] if found else theme.QUIET


def _headline(notebook: NotebookNode) -> _Headline:
    found = _Headline()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            markup = output.get("data", {}).get("text/html", "")
            if markup.startswith('<div class="headline">'):
                found.feed(markup)
                return found
    return found


class _Headline(HTMLParser):
    """Collects sentences and pictures of the markup of `show.headline`, `show.strips` and `show.sparklines`."""

    def __init__(self) -> None:
        super().__init__()
        self.sentences: list[str] = []
        self.pictures: list[Strip | RateOverTime] = []
        self._open: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag not in _VOID:
            self._open.append((tag, given))
        if (tag == "p" and given.get("class") in _SAID) or (tag == "li" and self._within("ul", "statements")):
            self.sentences.append("")
        elif tag == "figure" and given.get("class") != "heat":
            over_time = "over-time" in given.get("class", "").split()
            self.pictures.append(RateOverTime() if over_time else Strip())
        elif (strip := self._strip) and tag == "tr" and given.get("class") != "axis":
            strip.rows.append(_Row(""))
        elif strip and tag == "td" and _is_figure(given):
            strip.rows[-1].colour = given["style"].removeprefix("color: ")
        elif self.pictures and (tag == "svg" or self._within("svg")):
            picture = self.pictures[-1]
            if isinstance(picture, Strip):
                _shape(picture, tag, given, self._open)
            else:
                _shape_of_rate(picture, tag, given)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in [name for name, _ in self._open]:
            while self._open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not self._open:
            return
        tag, given = self._open[-1]
        if tag == "figcaption":
            self.pictures[-1].caption += data
        elif tag == "text":
            picture = self.pictures[-1]
            if isinstance(picture, Strip):
                picture.ticks.append((_share(given["x"]), data))
            else:
                ends = {"from": "ls", "to": "rs"}.get(given.get("class", "").split()[-1], "ms")
                picture.words.append((float(given["x"]), float(given["y"]), data, ends))
        elif (strip := self._strip) and tag == "th":
            strip.rows[-1].label += data.replace("\u2003", "  ")
        elif strip and tag == "td" and _is_figure(given):
            strip.rows[-1].figure += data
        elif (tag == "p" and given.get("class") in _SAID) or (tag == "li" and self._within("ul", "statements")):
            self.sentences[-1] += data.strip()

    @property
    def _strip(self) -> Strip | None:
        """That in whose table the parser is."""
        found = self.pictures[-1] if self.pictures and self._within("table", "ratios") else None
        return found if isinstance(found, Strip) else None

    def _within(self, tag: str, kind: str | None = None) -> bool:
        return any(name == tag and kind in (None, given.get("class")) for name, given in self._open)


def _is_figure(given: dict[str, str]) -> bool:
    return "figure" in given.get("class", "").split()


def _shape(strip: Strip, tag: str, given: dict[str, str], within: list[tuple[str, dict[str, str]]]) -> None:
    if tag == "line" and given.get("class") == "interval":
        strip.rows[-1].interval = _share(given["x1"]), _share(given["x2"])
    elif tag == "line" and given.get("class") == "one":
        strip.one = _share(given["x1"])
    elif tag == "path":  # in a small SVG of its own, at an end of the axis
        strip.rows[-1].arrows.append((_share(within[-1][1]["x"]), given["fill"]))
    elif tag == "circle":
        row = strip.rows[-1]
        row.dot, row.filled = _share(given["cx"]), given["fill"] == given["stroke"]


def _share(percent: str) -> float:
    return float(percent.removesuffix("%")) / 100


def _shape_of_rate(rate: RateOverTime, tag: str, given: dict[str, str]) -> None:
    if tag == "rect":
        x, y, width, height = (float(given[name]) for name in ("x", "y", "width", "height"))
        rate.bands.append((x, y, width, height, given["fill"]))
    elif tag == "line":
        rate.lines.append((float(given["x1"]), float(given["x2"]), float(given["y1"]), given.get("class") == "one"))
    elif tag == "polyline":
        pairs = (pair.split(",") for pair in given["points"].split())
        rate.points, rate.colour = [(float(x), float(y)) for x, y in pairs], given["stroke"]
    elif tag == "svg":
        rate.size = float(given["width"]), float(given["height"])
