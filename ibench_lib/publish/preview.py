"""What a link to a post shows elsewhere: a description, and its first pictures as a PNG of 1200 x 630 pixels.

Platforms take no SVG, and a page is built without a browser, so Pillow draws the pictures, which are data (`Html`).
"""

from __future__ import annotations

import io
import math

from nbformat import NotebookNode
from PIL import Image, ImageDraw, ImageFont

from ibench_lib.show.kit import theme
from ibench_lib.show.kit.pieces import HTML_MIME, ONE, Picture, Piece, RateOverTime, Sentence, Strip, html_of

WIDTH, HEIGHT = 1200, 630
MOST_PICTURES = 4

_MARGIN, _CAPTION, _AXIS = 30, 34, 26
_FINE = 2
_LETTER, _LINE, _DOT = 20, 24, 8.5
_KNOWN = frozenset(map(chr, range(32, 127))) | {"…"}
_MOST_LETTERS = 300  # of a description
_LEAST_ROW, _MOST_ROW = 24, 60
_BESIDE = 16
_PAPER = theme.light("paper")


def description(notebook: NotebookNode) -> str:
    """What the headline of an executed notebook says, as much as previews show; empty without a headline."""
    sentences = [piece.text.strip() for piece in _headline(notebook) if isinstance(piece, Sentence) and _is_told(piece)]
    text = " ".join(sentence if sentence.endswith((".", "”")) else f"{sentence}." for sentence in sentences)
    if len(text) <= _MOST_LETTERS:
        return text
    return text[: _MOST_LETTERS - 1].rsplit(" ", 1)[0] + "…"


def _is_told(sentence: Sentence) -> bool:
    return sentence.element == "li" or sentence.kind in ("tested", "finding")


def preview(notebook: NotebookNode) -> bytes | None:
    """The first pictures of the headline as a PNG; None where it has none."""
    pictures = [piece for piece in _headline(notebook) if isinstance(piece, Picture)][:MOST_PICTURES]
    return _drawn(pictures) if pictures else None


def _headline(notebook: NotebookNode) -> tuple[Piece, ...]:
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if HTML_MIME in output.get("data", {}) and (shown := html_of(output["data"])).headline:
                return shown.pieces
    return ()


def _drawn(strips: list[Picture]) -> bytes:
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
    fill = theme.light(rate.band_colour)
    for band in rate.bands:
        x, y = left + band.x * across, top + band.y * down
        canvas.rectangle(x, y, x + band.width * across, y + band.height * down, fill)
    for x1, x2, y, dashed in rate.lines:
        start, end, at = round(left + x1 * across), round(left + x2 * across), top + y * down
        for dash in range(start, end, 8) if dashed else (start,):
            canvas.line(dash, at, min(dash + 4, end) if dashed else end, at, theme.QUIET if dashed else theme.RULE)
    canvas.lines([(left + x * across, top + y * down) for x, y in rate.points], theme.light(rate.colour))
    for word in rate.words:
        anchor = {"from": "ls", "to": "rs", "middle": "ms"}[word.place]
        canvas.text(left + word.x * across, top + word.y * down, word.text, theme.QUIET, anchor)


def _draw(canvas: _Canvas, strip: Strip, left: int, top: int, wide: int, high: int) -> None:
    canvas.text(left, top, strip.caption, theme.INK, most=wide)
    room = high - _CAPTION - _AXIS
    rows = strip.rows[: room // _LEAST_ROW]
    pitch = min(_MOST_ROW, room // max(len(rows), 1))
    top += _CAPTION
    bottom = top + pitch * len(rows)
    labels = [row.label.replace("\u2003", "  ") for row in rows]
    figure_px = max((canvas.length(row.figure) for row in rows), default=0)
    label_px = min(max(map(canvas.length, labels), default=0), wide - figure_px - wide / 3)
    start, end = left + label_px + _BESIDE, left + wide - figure_px - _BESIDE

    def at(percent: float) -> float:
        return start + percent / 100 * (end - start)

    free = -math.inf
    for place, text in strip.ticks:
        canvas.line(at(place), top, at(place), bottom, theme.RULE)
        half = canvas.length(text) / 2
        if at(place) - half > free:
            canvas.text(at(place), bottom, text, theme.QUIET, anchor="ma")
            free = at(place) + half + _BESIDE / 2
    for place in (place for place, text in strip.ticks if text == ONE):
        for dash in range(top, bottom, 8):
            canvas.line(at(place), dash, at(place), min(dash + 4, bottom), theme.QUIET)
    for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
        y, colour = top + pitch * (number + 0.5), theme.light(row.colour)
        canvas.text(left, y - _LINE / 2, label, theme.INK, most=label_px)
        canvas.text(left + wide, y - _LINE / 2, row.figure, colour, "ra")
        if row.interval:
            canvas.line(at(row.interval[0]), y, at(row.interval[1]), y, colour, 3)
        for end_percent, fill in row.beyond:
            back = at(end_percent) + (2 * _DOT if end_percent == 0 else -2 * _DOT)
            canvas.arrow([(back, y - _DOT), (at(end_percent), y), (back, y + _DOT)], colour, fill)
        if row.dot is not None:
            canvas.dot(at(row.dot), y, colour, row.clear)
    if len(rows) < len(strip.rows):
        canvas.text(left, bottom, f"and {len(strip.rows) - len(rows)} more", theme.QUIET)


class _Canvas:
    """A white picture, drawn twice as large as it becomes, so that its edges are smooth. Lengths are those it has."""

    def __init__(self) -> None:
        self._image = Image.new("RGB", (_FINE * WIDTH, _FINE * HEIGHT), _PAPER)
        self._draw = ImageDraw.Draw(self._image)
        # It comes with Pillow, and has the letters of English and no others.
        self._font = ImageFont.load_default(_FINE * _LETTER)

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str, width: int = 1) -> None:
        self._draw.line([_FINE * end for end in (x1, y1, x2, y2)], colour, _FINE * width)

    def lines(self, points: list[tuple[float, float]], colour: str) -> None:
        self._draw.line([(_FINE * x, _FINE * y) for x, y in points], colour, _FINE * 2)

    def rectangle(self, x1: float, y1: float, x2: float, y2: float, fill: str) -> None:
        self._draw.rectangle([_FINE * end for end in (x1, y1, x2, y2)], fill)

    def dot(self, x: float, y: float, colour: str, filled: bool) -> None:
        inside = colour if filled else _PAPER
        self._draw.circle((_FINE * x, _FINE * y), _FINE * _DOT, inside, colour, 2 * _FINE)

    def length(self, text: str) -> float:
        """How much room a text takes."""
        return self._font.getlength(_shown(text)) / _FINE

    def text(self, x: float, y: float, text: str, colour: str, anchor: str = "la", most: float = WIDTH) -> None:
        known = _shown(text)
        while known and self._font.getlength(known) > _FINE * most:
            known = f"{known.removesuffix('…')[:-1]}…" if len(known) > 1 else ""
        self._draw.text((_FINE * x, _FINE * y), known, colour, self._font, anchor)

    def arrow(self, points: list[tuple[float, float]], colour: str, fill: str) -> None:
        """What is beyond the axis: filled as a dot is, or its two edges only (`Beyond.fill`)."""
        fine = [(_FINE * x, _FINE * y) for x, y in points]
        if fill == "open":
            self._draw.line(fine, colour, 2 * _FINE)
        else:
            self._draw.polygon(fine, colour if fill == "full" else _PAPER, colour, 2 * _FINE)

    def png(self) -> bytes:
        small = self._image.reduce(_FINE)
        file = io.BytesIO()
        small.save(file, "PNG")
        return file.getvalue()


def _shown(text: str) -> str:
    return "".join(letter if letter in _KNOWN else "?" for letter in text)
