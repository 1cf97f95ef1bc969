"""What a link to a post shows elsewhere: a description, and its first strips as a PNG of 1200 x 630 pixels.

Platforms take no SVG, and a page is built without a browser: the strips of the headline are drawn here, point by point,
with the letters of `templates/post/glyphs.png` (DejaVu Sans Mono, 20 px).
"""

from __future__ import annotations

import math
import re
import struct
import zlib
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser

from nbformat import NotebookNode

from ibench_lib.paths import TEMPLATES
from ibench_lib.show import theme

PREVIEW_NAME = "preview.png"
WIDTH, HEIGHT = 1200, 630
MOST_STRIPS = 4

_MARGIN, _CAPTION, _AXIS = 30, 34, 26
_GLYPHS = "".join(map(chr, range(32, 127))) + "…▲▼✕"
_LETTER, _LINE, _BASE = 12, 24, 18
_MOST_LETTERS = 300  # of a description
_LEAST_ROW, _MOST_ROW = 24, 60
_VOID = {"line", "circle", "br", "img"}

Colour = tuple[int, int, int]


@dataclass
class Strip:
    """A strip of the headline (`show.strips`) as it is drawn: rows of (label, figure, colour), marks in its units."""

    caption: str = ""
    width: float = 320.0
    rows: list[_Row] = field(default_factory=list)
    ticks: list[tuple[float, str]] = field(default_factory=list)
    one: float | None = None


@dataclass
class _Row:
    label: str
    figure: str = ""
    colour: str = theme.QUIET
    dot: float | None = None
    filled: bool = False
    interval: tuple[float, float] | None = None


def description(notebook: NotebookNode) -> str:
    """What the headline of an executed notebook says, as much as previews show; empty without a headline."""
    sentences = _headline(notebook).sentences
    text = " ".join(sentences)
    if len(text) <= _MOST_LETTERS:
        return text
    return text[: _MOST_LETTERS - 1].rsplit(" ", 1)[0] + "…"


def preview(notebook: NotebookNode) -> bytes | None:
    """The first strips of the headline as a PNG; None where it has none."""
    strips = _headline(notebook).strips[:MOST_STRIPS]
    return _drawn(strips) if strips else None


def _drawn(strips: list[Strip]) -> bytes:
    canvas = _Canvas(WIDTH, HEIGHT)
    columns = 1 if len(strips) == 1 else 2
    lines = math.ceil(len(strips) / columns)
    wide = (WIDTH - _MARGIN * (columns + 1)) // columns
    high = (HEIGHT - _MARGIN * (lines + 1)) // lines
    for place, strip in enumerate(strips):
        x = _MARGIN + (place % columns) * (wide + _MARGIN)
        y = _MARGIN + (place // columns) * (high + _MARGIN)
        _draw(canvas, strip, x, y, wide, high)
    return canvas.png()


def _draw(canvas: _Canvas, strip: Strip, left: int, top: int, wide: int, high: int) -> None:
    ink, quiet, rule = (_rgb(colour) for colour in (theme.INK, theme.QUIET, theme.RULE))
    canvas.text(left, top, _cut(strip.caption, wide // _LETTER), ink)
    room = high - _CAPTION - _AXIS
    rows = strip.rows[: room // _LEAST_ROW]
    pitch = min(_MOST_ROW, room // max(len(rows), 1))
    top += _CAPTION
    bottom = top + pitch * len(rows)
    scale = wide / strip.width
    for x, text in strip.ticks:
        at = left + round(x * scale)
        canvas.line(at, top, bottom, rule, dashed=False)
        canvas.text(at - _LETTER * len(text) // 2, bottom, text, quiet)
    if strip.one is not None:
        canvas.line(left + round(strip.one * scale), top, bottom, quiet, dashed=True)
    for number, row in enumerate(rows):
        y, colour = top + pitch * number + pitch // 2, _rgb(row.colour)
        most = int((min((x for x, _ in strip.ticks), default=strip.width / 3) * scale) // _LETTER) - 1
        canvas.text(left, y - _LINE // 2, _cut(row.label, max(most, 8)), ink)
        canvas.text(left + wide - _LETTER * len(row.figure), y - _LINE // 2, row.figure, colour)
        if row.interval:
            canvas.bar(left + row.interval[0] * scale, left + row.interval[1] * scale, y, colour)
        if row.dot is not None:
            canvas.disc(left + row.dot * scale, y, colour, row.filled)
    if len(rows) < len(strip.rows):
        canvas.text(left, bottom, f"and {len(strip.rows) - len(rows)} more", quiet)


class _Canvas:
    """Pixels on white."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._pixels = bytearray(b"\xff" * (3 * width * height))

    def blend(self, x: int, y: int, colour: Colour, share: float) -> None:
        """Cover a share of a pixel; pixels outside are left out."""
        if 0 <= x < self._width and 0 <= y < self._height and share > 0:
            at = 3 * (y * self._width + x)
            for part in range(3):
                old = self._pixels[at + part]
                self._pixels[at + part] = round(old + (colour[part] - old) * min(share, 1.0))

    def line(self, x: int, top: int, bottom: int, colour: Colour, *, dashed: bool) -> None:
        for y in range(top, bottom):
            if not dashed or y % 8 < 4:
                self.blend(x, y, colour, 1)

    def bar(self, left: float, right: float, y: int, colour: Colour) -> None:
        for x in range(round(left), round(right) + 1):
            for row in range(y - 1, y + 2):
                self.blend(x, row, colour, 1)

    def disc(self, x: float, y: int, colour: Colour, filled: bool, radius: float = 8.0) -> None:
        for row in range(y - 10, y + 11):
            for column in range(round(x) - 10, round(x) + 11):
                away = math.hypot(column - x, row - y)
                self.blend(column, row, colour, radius + 0.5 - away)
                if not filled:
                    self.blend(column, row, (255, 255, 255), radius - 2 - away)

    def text(self, x: int, y: int, text: str, colour: Colour) -> None:
        glyphs, stride = _glyphs(), _LETTER * len(_GLYPHS)
        for place, letter in enumerate(text):
            start = _LETTER * max(_GLYPHS.find(letter), 0) if letter in _GLYPHS else _LETTER * _GLYPHS.index("?")
            for row in range(_LINE):
                for column in range(_LETTER):
                    share = glyphs[row * stride + start + column] / 255
                    self.blend(x + place * _LETTER + column, y + row, colour, share)

    def png(self) -> bytes:
        stride = 3 * self._width
        rows = (b"\0" + self._pixels[stride * row : stride * (row + 1)] for row in range(self._height))
        head = struct.pack(">IIBBBBB", self._width, self._height, 8, 2, 0, 0, 0)
        parts = ((b"IHDR", head), (b"IDAT", zlib.compress(b"".join(rows), 9)), (b"IEND", b""))
        chunks = (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
            for kind, data in parts
        )
        return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@cache
def _glyphs() -> bytes:
    """Grey values of the letters, row by row. The file has no filters: each of its rows begins with a zero."""
    content = (TEMPLATES / "post" / "glyphs.png").read_bytes()
    start = content.index(b"IDAT")
    (length,) = struct.unpack(">I", content[start - 4 : start])
    raw = zlib.decompress(content[start + 4 : start + 4 + length])
    stride = 1 + _LETTER * len(_GLYPHS)
    return b"".join(raw[row * stride + 1 : (row + 1) * stride] for row in range(_LINE))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _rgb(colour: str) -> Colour:
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", colour):
        return _rgb(theme.QUIET)
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


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
    """Collects sentences and strips of the markup that `show.headline` and `show.strips` write."""

    def __init__(self) -> None:
        super().__init__()
        self.sentences: list[str] = []
        self.strips: list[Strip] = []
        self._open: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag not in _VOID:
            self._open.append((tag, given))
        if (tag == "p" and given.get("class") == "tested") or (tag == "li" and self._within("ul", "statements")):
            self.sentences.append("")
        elif tag == "figure":
            self.strips.append(Strip())
        elif self.strips and self._within("svg"):
            self._shape(tag, given)

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
            self.strips[-1].caption += data
        elif tag == "text":
            self._word(data, given)
        elif (tag == "p" and given.get("class") == "tested") or (tag == "li" and self._within("ul", "statements")):
            self.sentences[-1] += data.strip()

    def _within(self, tag: str, kind: str | None = None) -> bool:
        return any(name == tag and kind in (None, given.get("class")) for name, given in self._open)

    def _shape(self, tag: str, given: dict[str, str]) -> None:
        strip = self.strips[-1]
        if tag == "g":
            strip.rows.append(_Row(""))
        elif tag == "line" and given.get("class") == "interval":
            strip.rows[-1].interval = float(given["x1"]), float(given["x2"])
        elif tag == "line" and given.get("class") == "one":
            strip.one = float(given["x1"])
        elif tag == "circle":
            row = strip.rows[-1]
            row.dot, row.colour, row.filled = float(given["cx"]), given["stroke"], given["fill"] == given["stroke"]
        elif tag == "svg":
            strip.width = float(given["width"])

    def _word(self, data: str, given: dict[str, str]) -> None:
        strip = self.strips[-1]
        if given.get("class") == "tick":
            strip.ticks.append((float(given["x"]), data))
        elif given.get("text-anchor") == "end":
            strip.rows[-1].figure, strip.rows[-1].colour = data, given.get("fill", theme.QUIET)
        else:
            strip.rows[-1].label += data.replace("\u2003", "  ")
