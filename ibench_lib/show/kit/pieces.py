"""What the library's HTML is made of: markup, and as data what a page or a preview needs of it.

An output of a notebook has both, so that nobody has to read markup that we have made.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from ibench_lib.show.kit import theme
from ibench_lib.show.kit.picture_style import notebook_style

HTML_MIME = "application/vnd.ibench.html+json"
"""Which pieces the `text/html` of the same output consists of: see `Html.bundle`."""

ANSWER = "ibench.answer"
"""Key of an output's metadata: the names of the answers that it shows."""

RUNS_MIME = "application/vnd.ibench.runs+json"
"""An output of this type lists the runs that a notebook has shown: `{"runs": [{"build": ..., "experiment": ...}]}`."""


@dataclass(frozen=True)
class Sentence:
    """Sentences of plain text in an element of their own, with links behind them (markup).

    `kind` is a class of the element. A page says only once what is long in items of a list.
    """

    text: str
    links: str = ""
    kind: str = ""
    element: Literal["li", "p"] = "li"

    @property
    def markup(self) -> str:
        """The element."""
        return self.drawn("", html.escape(self.text))

    def drawn(self, anchor: str, text: str) -> str:
        """The element with an attribute more and another text, both as markup."""
        kind = f' class="{self.kind}"' if self.kind else ""
        return f"<{self.element}{kind}{anchor}>{text}{self.links}</{self.element}>"


@dataclass(frozen=True)
class Place:
    """What a page puts in here, or adds because of what is here; a notebook shows nothing in its place."""

    name: Literal["tldr", "tldr, continued", "flame graph"]
    markup: str = ""


TLDR = Place("tldr")
"""Where a page puts its author's tl;dr into a first screen: behind what was tested, before what was found."""

TLDR_REST = Place("tldr, continued")
"""Where what is long in a tl;dr goes on: below the first picture."""

FLAME_GRAPH = Place("flame graph")
"""A page with a flame graph needs the script that draws it."""


@dataclass(frozen=True)
class SavedFile:
    """A link that saves a file which is in the page; `says` names the file. A page that is too large leaves it out."""

    says: str
    markup: str


class Beyond(NamedTuple):
    """What is beyond an axis: at which end (% of its width), and how its arrow is filled (open: an interval's)."""

    at: int
    fill: Literal["full", "hollow", "open"]


class Row(NamedTuple):
    """A row of a strip. Places are in % of the width of its axis, `colour` is a token of the theme."""

    label: str
    figure: str
    between: str
    said: str
    colour: str
    clear: bool
    dot: float | None = None
    interval: tuple[float, float] | None = None
    beyond: tuple[Beyond, ...] = ()


def named(text: str, end: str = "") -> str:
    """Markup of a name: of `words · code` the code is quiet, up to `end`. A style sheet puts the dot there."""
    words, _, rest = text.partition(" · ")
    code, comma, more = rest.partition(end) if end else (rest, "", "")
    quiet = f'<span class="code"> {html.escape(code)}</span>' if code else ""
    return f"{html.escape(words)}{quiet}{comma}{html.escape(more)}"


@dataclass(frozen=True)
class Strip:
    """Ratios on a logarithmic axis, one a row. `ticks` are places in % of the width of the axis and what they name."""

    caption: str
    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, str], ...]

    @property
    def markup(self) -> str:
        """A figure: its title, and a table of the rows. It is as wide as there is room; its text keeps its size."""
        lines = "".join(
            f'<line class="{"one" if text == ONE else "tick"}" x1="{x:.2f}%" x2="{x:.2f}%" y1="0" y2="100%"/>'
            for x, text in self.ticks
        )
        # As high as its row, which the lines of a long label make higher.
        grid = f'<svg class="grid" width="100%" height="100%" aria-hidden="true">{lines}</svg>'
        ticks = "".join(f'<text class="tick" x="{x:.2f}%" y="12">{text}</text>' for x, text in self.ticks)
        body = "".join(self._drawn(row, grid) for row in self.rows)
        caption = named(self.caption, end=",")
        return (
            f'<figure class="strip"><figcaption>{caption}</figcaption>'
            f'<table class="ratios" style="width: 100%; table-layout: fixed">{_COLUMNS}<tbody>'
            f'<tr class="axis" aria-hidden="true"><td></td>{_plot(ticks, _AXIS_PX)}<td></td><td></td></tr>'
            f"{body}</tbody></table></figure>"
        )

    def _drawn(self, row: Row, grid: str) -> str:
        colour, middle = theme.paint(row.colour), _ROW_PX // 2
        shapes = []
        if row.interval:
            low, high = row.interval
            line = f'x1="{low:.2f}%" x2="{high:.2f}%" y1="{middle}" y2="{middle}"'
            shapes.append(f'<line class="interval" {line} stroke="{colour}" stroke-width="2"/>')
        shapes += [_arrow(arrow, colour, middle) for arrow in row.beyond]
        if row.dot is not None:
            fill = colour if row.clear else theme.paint("paper")
            shapes.append(f'<circle cx="{row.dot:.2f}%" cy="{middle}" r="4.5" fill="{fill}" stroke="{colour}"/>')
        kind = "figure clear" if row.clear else "figure"
        return (
            f'<tr title="{html.escape(row.said)}"><th scope="row">{named(row.label)}</th>'
            f'{_plot("".join(shapes), _ROW_PX, grid)}<td class="{kind}" style="color: {colour}">'
            f'{html.escape(row.figure)}</td><td class="between">{html.escape(row.between)}</td></tr>'
        )


ONE = "1x"
"""The tick of what a ratio is relative to."""

_ROW_PX, _AXIS_PX = 20, 16
_COLUMNS = "".join(("<colgroup>", *(f'<col style="width: {share}%"/>' for share in (30, 33, 22, 15)), "</colgroup>"))


def _plot(shapes: str, height: int, behind: str = "") -> str:
    svg = f'<svg width="100%" height="{height}" overflow="visible" aria-hidden="true">{shapes}</svg>'
    return f'<td class="along">{behind}{svg}</td>'


def _arrow(arrow: Beyond, colour: str, middle: int) -> str:
    fill = {"full": colour, "hollow": theme.paint("paper"), "open": "none"}[arrow.fill]
    back = -7 if arrow.at else 7
    path = f"M{back} {middle - 4.5}L0 {float(middle)}L{back} {middle + 4.5}{'' if fill == 'none' else 'Z'}"
    shape = f'<path class="beyond" d="{path}" fill="{fill}" stroke="{colour}"/>'
    return f'<svg x="{arrow.at}%" overflow="visible">{shape}</svg>'


class OnTime(NamedTuple):
    """What a crosshair reads of a plot over the seconds of a step.

    Plots of one `group` have one crosshair. The axis reaches from `start` to `end`. A line is what it shows, whose it
    is, and its points: second and value.
    """

    group: str
    start: float
    end: float
    lines: tuple[tuple[str, str, tuple[tuple[float, float], ...]], ...]

    def around(self, drawn: str) -> str:
        """Markup of a plot with what is read of it; it has to be as wide as its axis."""
        lines = html.escape(json.dumps(self.lines, separators=(",", ":")))
        place = f'data-from="{self.start:g}" data-to="{self.end:g}"'
        return f'<div class="time" {place} data-lines="{lines}">{drawn}</div>'


class Band(NamedTuple):
    """A rectangle, in pixels of its picture, and what it is in words."""

    x: float
    y: float
    width: float
    height: float
    said: str


class Word(NamedTuple):
    """A text that begins, ends or has its middle at a place; `colour` is a token of the theme, empty: quiet."""

    x: float
    y: float
    text: str
    place: Literal["from", "to", "middle"]
    colour: str = ""


@dataclass(frozen=True)
class RateOverTime:
    """A rate over time, in pixels of its picture: a line, bands below it, horizontal lines and words.

    `said` is what it shows in words. Of `lines`, those that are dashed are marks. Colours are tokens of the theme.
    `left` is the room in front of the plot, and `time` is what a crosshair reads.
    """

    caption: str
    said: str
    size: tuple[int, int]
    points: tuple[tuple[float, float], ...]
    colour: str
    bands: tuple[Band, ...]
    band_colour: str
    lines: tuple[tuple[float, float, float, bool], ...]
    words: tuple[Word, ...]
    left: float = 0
    time: OnTime | None = None

    @property
    def markup(self) -> str:
        """A figure: the title above an SVG. It is as wide as there is room; its height and its text keep their size."""
        width, height = self.size
        wide, fill = width - self.left, theme.paint(self.band_colour)
        points = " ".join(f"{x},{y}" for x, y in self.points)
        shapes = [
            f'<rect x="{self._at(band.x)}" y="{band.y}" width="{100 * band.width / wide:.2f}%" '
            f'height="{band.height}" fill="{fill}"><title>{html.escape(band.said)}</title></rect>'
            for band in self.bands
        ]
        shapes += [
            f'<line{_DASHED if dashed else ""} x1="{self._at(start)}" x2="{self._at(end)}" y1="{y}" y2="{y}"/>'
            for start, end, y, dashed in self.lines
        ]
        box = f'viewBox="{self.left:g} 0 {wide:g} {height}" width="100%" height="{height}" preserveAspectRatio="none"'
        line = f'points="{points}" fill="none" stroke="{theme.paint(self.colour)}" vector-effect="non-scaling-stroke"'
        shapes.append(f"<svg {box}><polyline {line}/></svg>")
        shapes += [_word(word, self._at(word.x)) for word in self.words]
        drawn = (
            f'<svg width="100%" height="{height}" overflow="visible" role="img" '
            f'aria-label="{html.escape(self.said)}">{"".join(shapes)}</svg>'
        )
        group = ""
        if self.time:
            group, drawn = f' data-time="{html.escape(self.time.group)}"', self.time.around(drawn)
        return (
            f'<figure class="strip over-time"{group}><figcaption>{html.escape(self.caption)}</figcaption>'
            f'<div style="padding-left: {self.left:g}px">{drawn}</div></figure>'
        )

    def _at(self, x: float) -> str:
        """A place of the plot in % of its width, or left of it in pixels."""
        return f"{x - self.left:g}" if x < self.left else f"{100 * (x - self.left) / (self.size[0] - self.left):.2f}%"


_DASHED = ' class="one"'


def _word(word: Word, x: str) -> str:
    kind = "tick" if word.place == "middle" else f"tick {word.place}"
    fill = f' fill="{theme.paint(word.colour)}"' if word.colour else ""
    return f'<text class="{kind}"{fill} x="{x}" y="{word.y}">{html.escape(word.text)}</text>'


Picture: TypeAlias = Strip | RateOverTime
Piece: TypeAlias = str | Sentence | Place | SavedFile | Picture
"""A text is markup in which all text of others was escaped."""


@dataclass(frozen=True, init=False)
class Html:
    """HTML that this library made of pieces. `headline`: it is the first screen of a post."""

    pieces: tuple[Piece, ...]
    headline: bool

    def __init__(self, *pieces: Piece | Html, headline: bool = False) -> None:
        flat = [inner for piece in pieces for inner in (piece.pieces if isinstance(piece, Html) else (piece,))]
        object.__setattr__(self, "pieces", tuple(flat))
        object.__setattr__(self, "headline", headline)

    def __str__(self) -> str:
        return self.markup

    def __bool__(self) -> bool:
        return any(self.pieces)

    @property
    def markup(self) -> str:
        """All of it as a notebook shows it."""
        return "".join(map(_markup, self.pieces))

    @property
    def bundle(self) -> dict[str, Any]:
        """The data of an output, of which `html_of` makes it again."""
        data: dict[str, Any] = {"text/html": self.markup}
        if self.headline or not all(isinstance(piece, str) for piece in self.pieces):
            # Markup stands in the output once: of each piece its length is here, and what its markup does not tell.
            parts = [[len(_markup(piece)), *_described(piece)] for piece in self.pieces]
            data[HTML_MIME] = {"headline": self.headline, "pieces": parts}
        if self.headline or any(isinstance(piece, Picture) for piece in self.pieces):
            data["text/html"] += notebook_style()  # behind the pieces, and none of them
        return data

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {**self.bundle, "text/plain": "HTML"}


def _markup(piece: Piece) -> str:
    return piece if isinstance(piece, str) else piece.markup


def _described(piece: Piece) -> tuple[int, dict[str, Any]] | tuple[()]:
    if isinstance(piece, str):
        return ()
    return _KINDS.index(type(piece)), {name: value for name, value in asdict(piece).items() if name != "markup"}


def html_of(data: Mapping[str, Any]) -> Html:
    """The HTML of the data of an output (`Html.bundle`); markup of others is one piece."""
    markup, known = data["text/html"], data.get(HTML_MIME)
    if known is None:
        return Html(markup)
    pieces, start = list[Piece](), 0
    for length, *described in known["pieces"]:
        text = markup[start : start + length]
        pieces.append(_piece(text, *described) if described else text)
        start += length
    return Html(*pieces, headline=known["headline"])


_KINDS = (Sentence, Place, SavedFile, Strip, RateOverTime)


def _piece(markup: str, kind: int, values: Mapping[str, Any]) -> Piece:
    values = {name: _tuples(value) for name, value in values.items()}
    for name, made in (("rows", _row), ("bands", Band._make), ("words", Word._make)):
        if name in values:
            values[name] = tuple(map(made, values[name]))
    if values.get("time"):
        values["time"] = OnTime._make(values["time"])
    made_of: Callable[..., Piece] = _KINDS[kind]
    return made_of(**values, **({"markup": markup} if made_of is SavedFile else {}))


def _row(values: Iterable[Any]) -> Row:
    row = Row._make(values)
    return row._replace(beyond=tuple(map(Beyond._make, row.beyond)))


def _tuples(value: Any) -> Any:
    """JSON knows lists only."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
